"""A file that a person names may be a device without an end; it must not fill the memory."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from lading import files
from lading.adapters.clock import SystemClock
from lading.adapters.registry import node_credentials
from lading.cli.main import lading_command
from lading.kernel.errors import Malformed
from lading.web.pruning_plan import PlanQuery, PlanReader
from lading.wiring import prune

ENDLESS = "/dev/zero"
CLUSTER = {
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    "current-context": "c",
}
"""Which some of the commands need, and none of them asks: the file is read first."""


@pytest.mark.parametrize(
    "words",
    [
        "prune apply --registry-url http://127.0.0.1:1",
        "get nodes --kubeconfig",
        "image pull example.com/a/b --runtime-endpoint unix:///none --runtime-config",
        "prune images --registry-url http://127.0.0.1:1 --policy",
        "validate -f",
    ],
)
def test_a_command_refuses_it_in_one_sentence(words: str, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps(CLUSTER))
    shown = CliRunner().invoke(
        lading_command, [*words.split(), ENDLESS], env={"KUBECONFIG": str(kubeconfig)}
    )
    assert shown.exit_code == 1
    assert shown.output.startswith(f"Error: {ENDLESS}: ")
    assert shown.output.endswith(
        ("the file is larger than 32 MiB\n", "a line is larger than 32 MiB\n")
    )


def providers(file: Path) -> object:
    return node_credentials.from_providers(
        file, folder=file.parent, clock=SystemClock(), report=print
    )


async def test_references_of_another_cluster_may_be_larger(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(prune, "REFERENCES_BYTES_MAX", 2 * files.BYTES_MAX)
    with pytest.raises(OSError, match="the file is larger than 64 MiB"):
        await prune.reference_files((Path(ENDLESS),), SystemClock(), age_max=timedelta(hours=1))
    large = tmp_path / "references"
    large.write_bytes(b" " * (files.BYTES_MAX + 1))
    with pytest.raises(Malformed):
        await prune.reference_files((large,), SystemClock(), age_max=timedelta(hours=1))


async def test_the_dashboard_shows_no_plan_without_an_end() -> None:
    plan = PlanReader(Path(ENDLESS))
    with pytest.raises(OSError, match="a line is larger than 32 MiB"):
        await plan.lines(PlanQuery())
    with pytest.raises(OSError, match="a line is larger than 32 MiB"):
        await plan.contents()


@pytest.mark.parametrize("read", [providers, prune._toml])
def test_other_readers_refuse_it(read: Callable[[Path], object]) -> None:
    with pytest.raises(Exception, match="larger than 32 MiB"):
        read(Path(ENDLESS))
