"""The alerts, judged by promtool: each fires, and each is silent."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import DEPLOY
from tests.real.setup import binaries

pytestmark = pytest.mark.components("kube")
FILES = sorted((DEPLOY / "chart" / "monitoring").glob("*-rules.yaml"))
CASES = Path(__file__).parent / "alerts"
"""A folder for each file of rules."""
PROMTOOL_SECONDS_MAX = 120


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = binaries.unpacked("prometheus", "usr/bin/promtool")
    return subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PROMTOOL_SECONDS_MAX,
    )


def judged(folder: Path, rules: Path, cases: list[Path]) -> subprocess.CompletedProcess[str]:
    made = []
    for file in cases:
        made.append(folder / file.name)
        made[-1].write_text(file.read_text(encoding="utf-8").replace("[RULES]", f"[{rules}]"))
    assert made
    return promtool("test", "rules", *made)


def cases_of(file: Path, alert: str = "") -> list[Path]:
    """All of a file of rules, or those about one alert where they have a file of their own."""
    found = sorted((CASES / file.stem).glob("*.yaml"))
    return [one for one in found if one.stem == alert] or found


@pytest.mark.parametrize("rules", FILES, ids=lambda file: file.stem)
def test_each_alert_fires_and_is_silent_as_it_should(rules: Path, tmp_path: Path) -> None:
    checked = promtool("check", "rules", rules)
    assert checked.returncode == 0, checked.stderr
    found = judged(tmp_path, rules, cases_of(rules))
    assert found.returncode == 0, found.stdout + found.stderr


def alerts(document: dict[str, list[dict[str, Any]]]) -> list[dict[str, str]]:
    return [one for group in document["groups"] for one in group["rules"] if "alert" in one]


def read(rules: Path) -> dict[str, list[dict[str, Any]]]:
    document: dict[str, list[dict[str, Any]]] = yaml.safe_load(rules.read_text(encoding="utf-8"))
    return document


EVERY = [(file, one["alert"]) for file in FILES for one in alerts(read(file))]


@pytest.mark.parametrize(("file", "alert"), EVERY, ids=[alert for _, alert in EVERY])
@pytest.mark.parametrize("broken", ["vector(0) > 1", "vector(1)"], ids=["never", "always"])
def test_a_broken_alert_is_noticed(file: Path, alert: str, broken: str, tmp_path: Path) -> None:
    document = read(file)
    (one,) = (rule for rule in alerts(document) if rule["alert"] == alert)
    one["expr"] = broken
    rules = tmp_path / "broken.yaml"
    rules.write_text(yaml.safe_dump(document))
    assert judged(tmp_path, rules, cases_of(file, alert)).returncode != 0
