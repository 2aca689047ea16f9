"""One table of exit codes: the page and the code have the same, and no command has its own."""

import re
from pathlib import Path

import click

from lading.cli.error_messages import CommandTimedOut, ExitCode, RefusedByGuard

REPOSITORY = Path(__file__).parents[2]


def test_the_page_lists_the_exit_codes() -> None:
    page = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
    table = page.partition("## Exit codes")[2]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == {*ExitCode}


def test_errors_end_a_command_with_the_code_of_their_kind() -> None:
    assert (RefusedByGuard("no").exit_code, CommandTimedOut("late").exit_code) == (3, 124)
    assert (click.ClickException("no").exit_code, click.UsageError("what").exit_code) == (1, 2)


def test_no_other_module_sets_an_exit_code() -> None:
    sources = (REPOSITORY / "src" / "lading" / "cli").rglob("*.py")
    own = re.compile(r"exit_code = |sys\.exit\(\d|ctx\.exit\(\d|SystemExit\(\d")
    found = {path.name for path in sources if own.search(path.read_text(encoding="utf-8"))}
    assert found == {"error_messages.py"}
