"""The alerts about the ImagePruner, judged by promtool: each fires, and each is silent."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import DEPLOY
from tests.real.setup import binaries

pytestmark = pytest.mark.components("kube")
RULES = DEPLOY / "monitoring" / "image-pruner-rules.yaml"
CASES = Path(__file__).parent / "alerts"


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = binaries.unpacked("prometheus", "usr/bin/promtool")
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def judged(folder: Path, rules: Path) -> subprocess.CompletedProcess[str]:
    made = []
    for cases in sorted(CASES.glob("*.yaml")):
        made.append(folder / cases.name)
        made[-1].write_text(cases.read_text(encoding="utf-8").replace("[RULES]", f"[{rules}]"))
    assert made
    return promtool("test", "rules", *made)


def test_each_alert_fires_and_is_silent_as_it_should(tmp_path: Path) -> None:
    checked = promtool("check", "rules", RULES)
    assert checked.returncode == 0, checked.stderr
    found = judged(tmp_path, RULES)
    assert found.returncode == 0, found.stdout + found.stderr


def alerts(document: dict[str, list[dict[str, Any]]]) -> list[dict[str, str]]:
    (group,) = document["groups"]
    return [one for one in group["rules"] if "alert" in one]


NAMES = [one["alert"] for one in alerts(yaml.safe_load(RULES.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("alert", NAMES)
@pytest.mark.parametrize("broken", ["vector(0) > 1", "vector(1)"], ids=["never", "always"])
def test_a_broken_alert_is_noticed(alert: str, broken: str, tmp_path: Path) -> None:
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    (one,) = (rule for rule in alerts(document) if rule["alert"] == alert)
    one["expr"] = broken
    rules = tmp_path / "broken.yaml"
    rules.write_text(yaml.safe_dump(document))
    assert judged(tmp_path, rules).returncode != 0
