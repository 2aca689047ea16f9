"""Which runtime the image commands ask, and what the feature gate hides."""

from pathlib import Path

import click
import pytest

from lading.cli.image import node_options
from tests.cli.image.conftest import GATE, Run

CONFIG = "runtime-endpoint: unix:///from/config.sock\nimage-endpoint: ''\ntimeout: 2\n"


def find(folder: Path, *, config: str = "", named: str = "") -> str:
    file = folder / "crictl.yaml"
    if config:
        file.write_text(config)
    sockets = (folder / "first.sock", folder / "second.sock")
    return node_options.find_endpoint(named, config=file, sockets=sockets)


@pytest.mark.parametrize("named", ["unix:///named.sock", "/named.sock"])
def test_the_option_wins_over_the_configuration_file(tmp_path: Path, named: str) -> None:
    assert find(tmp_path, config=CONFIG, named=named) == "unix:///named.sock"


def test_the_configuration_file_wins_over_the_usual_sockets(tmp_path: Path) -> None:
    (tmp_path / "first.sock").touch()
    assert find(tmp_path, config=CONFIG) == "unix:///from/config.sock"


def test_the_first_usual_socket_that_exists_is_taken(tmp_path: Path) -> None:
    (tmp_path / "second.sock").touch()
    assert find(tmp_path, config="# nothing\n") == f"unix://{tmp_path}/second.sock"


def test_without_any_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="--runtime-endpoint"):
        find(tmp_path)


@pytest.mark.parametrize(
    "config",
    ["runtime-endpoint: [1]\n", "- " * 100_000, "[" * 100_000, "a: &a [*a]", "a: !!bool x", "\0"],
)
def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path, config: str) -> None:
    with pytest.raises(click.ClickException, match=r"crictl\.yaml"):
        find(tmp_path, config=config)


async def test_with_the_gate_off_no_runtime_class_is_seen_or_taken(run: Run, tag: str) -> None:
    assert "handler:arm" not in (await run("ls", gate=False)).output
    refused = await run("pull", tag, "--runtime", "handler:arm", gate=False)
    assert refused.code == 2
    assert f"--feature-gates {GATE}" in refused.errors


async def test_a_runtime_that_does_not_answer_is_reported(run: Run) -> None:
    failed = await run("ls", "--runtime-endpoint", "unix:///nowhere.sock")
    assert failed.code == 1
    assert "check that the runtime runs" in failed.errors
