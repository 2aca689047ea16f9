"""A group suggests the command that was meant, and completes names without importing commands."""

import click
import pytest
from click.testing import CliRunner

from lading.cli.lazy import LazyGroup
from lading.cli.main import lading_command


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["aply"], "no such command 'aply'; did you mean 'apply'?"),
        (["pin", "statsu"], "no such command 'statsu'; did you mean 'status'?"),
        (["xyzzy"], "no such command 'xyzzy'\n"),
        (["pin", "help"], "no such command 'help'; use --help\n"),
    ],
)
def test_an_unknown_command_is_a_usage_error_with_a_suggestion(
    words: list[str], sentence: str
) -> None:
    result = CliRunner().invoke(lading_command, words)
    assert result.exit_code == 2
    assert sentence in result.output


def test_names_are_completed_without_importing_a_command() -> None:
    group = LazyGroup("group", package="not.there", commands={"get": "Show.", "gc": "", "up": ""})
    found = group.shell_complete(click.Context(group), "g")
    assert [(item.value, item.help) for item in found] == [("get", "Show."), ("gc", "")]
    options = group.shell_complete(click.Context(group), "--h")
    assert [item.value for item in options] == ["--help"]
