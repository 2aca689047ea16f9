"""A manifest of an earlier release still starts its process, and keeps its meaning."""

from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from lading.cli.prepull import settings
from lading.prepull.types import PrePullSettings, Toleration
from tests.cli.commands import COMMANDS

RECORDED = Path(__file__).parents[1] / "golden" / "upgrade" / "arguments.yaml"
REQUIRED = {"agent": ["--node=worker-1"], "prune blobs": ["--storage=file:///storage"]}
ARGUMENTS = [
    (command, words)
    for command, all_words in yaml.safe_load(RECORDED.read_text(encoding="utf-8")).items()
    for words in all_words
]


def parsed(command: str, words: list[str]) -> dict[str, Any]:
    found = COMMANDS[f"lading {command}"]
    with found.make_context(command, [*REQUIRED.get(command, []), *words]) as context:
        return context.params


@pytest.mark.parametrize(("command", "words"), ARGUMENTS)
def test_every_option_of_an_earlier_release_is_accepted(
    command: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    here = words.replace("FILE", str(tmp_path / "file")).replace("FOLDER", str(tmp_path))
    parsed(command, here.split())
    spaced = [part for one in here.split() for part in one.split("=", maxsplit=1)]
    is_switch = any(one.endswith(("=true", "=false")) for one in here.split())
    if not is_switch:  # the switches of oc take a value only with "="
        parsed(command, spaced)


def test_a_former_name_keeps_its_value() -> None:
    assert parsed("agent", ["--node-name=worker-2"])["node_name"] == "worker-2"
    assert parsed("prune images", ["--report-as=main"])["run_name"] == "main"
    assert str(parsed("up", ["--data=/tmp/a"])["data"]) == "/tmp/a"
    assert str(parsed("prune blobs", ["--report=/tmp/a"])["saved"]) == "/tmp/a"


def test_a_removed_option_warns_and_takes_its_value_along(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = parsed("controller", ["--leader-elect-lease-duration", "30s", "--metrics-port=1"])
    assert given["metrics_port"] == 1
    assert "--leader-elect-lease-duration has no effect" in capsys.readouterr().err


def prepull(*words: str) -> PrePullSettings:
    @settings.prepull_options
    def command(prepull: PrePullSettings) -> PrePullSettings:
        return prepull

    made = click.command()(command).main([*words], standalone_mode=False)
    assert isinstance(made, PrePullSettings)
    return made


def test_former_options_of_holder_pods_are_fields_of_the_pods(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ignoring a toleration would remove held images from nodes."""
    found = prepull(
        *("--prepull-toleration=team=red:NoSchedule", "--prepull-toleration=disk"),
        *("--prepull-toleration=*", "--prepull-node-selector=disk=large"),
        *("--prepull-affinity", '{"nodeAffinity": {}}', "--prepull-priority-class=high"),
        *("--prepull-resources", '{"requests": {"cpu": "1m"}, "limits": {"cpu": "2m"}}'),
        "--prepull-user-id=none",
    )
    assert found == PrePullSettings(
        tolerations=(
            Toleration(key="team", value="red", effect="NoSchedule"),
            Toleration(key="disk"),
            Toleration(),
        ),
        node_selector=(("disk", "large"),),
        affinity={"nodeAffinity": {}},
        priority_class="high",
        resources={"requests": {"cpu": "1m"}, "limits": {"cpu": "2m"}},
        user_id=None,
    )
    warning = capsys.readouterr().err
    assert "replace --prepull-toleration, " in warning
    replacement = warning.partition("--prepull-pods='")[2].rpartition("'")[0]
    assert prepull("--prepull-pods", replacement) == found


def test_a_field_of_the_pods_replaces_the_former_option() -> None:
    pods = ("--prepull-pods", '{"runAsUser": 7}')
    found = prepull("--prepull-user-id=5", "--prepull-node-selector=disk=large", *pods)
    assert (found.user_id, found.node_selector) == (7, (("disk", "large"),))


@pytest.mark.parametrize(
    "word", ["--prepull-resources={", "--prepull-user-id=0", "--prepull-toleration=a:Never"]
)
def test_a_wrong_value_of_a_former_option_is_refused(word: str) -> None:
    with pytest.raises(click.BadParameter, match="expected"):
        prepull(word)
