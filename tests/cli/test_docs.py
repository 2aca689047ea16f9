"""docs/commands.md names every command and option, and nothing that is not there."""

import re
from pathlib import Path

import click
import pytest

from lading.cli import reference
from tests.cli.commands import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def sections() -> dict[str, str]:
    """The text below each heading, by the heading as a link names it."""
    _, *found = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    split = (section.partition("\n") for section in found)
    return {heading.lower().replace(" ", "-"): text for heading, _, text in split}


def documented(name: str) -> set[str]:
    """The options in the lists of the command's section and of the shared ones it names."""
    page = sections()
    own = page[name.replace(" ", "-")]
    shared = [page[anchor] for anchor in re.findall(r"\[[^]]* options\]\(#([a-z-]+)\)", own)]
    cells = re.findall(r"^- (`-.*?`): ", "\n".join((own, *shared)), flags=re.MULTILINE)
    return {option for cell in cells for option in re.findall(r"(?<=`)--?[a-zA-Z-]+", cell)}


def test_the_lists_are_fresh() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert reference.page(text) == text, "run `make generate`"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_documented_with_all_its_options_and_no_other(name: str) -> None:
    options = (one for one in COMMANDS[name].params if isinstance(one, click.Option))
    shown = {text for option in options if not option.hidden for text in option.opts}
    assert documented(name) == shown


def test_one_variable_sets_the_feature_gates_of_every_command_that_has_any() -> None:
    options = (option for command in COMMANDS.values() for option in command.params)
    found = {option.envvar for option in options if "--feature-gates" in option.opts}
    assert found == {"LADING_FEATURE_GATES"}


def test_no_section_is_about_a_command_that_is_gone() -> None:
    written = {heading for heading in sections() if heading.startswith("lading-")}
    assert written == {name.replace(" ", "-") for name in COMMANDS}


@pytest.mark.parametrize(
    "page", ["recovering-disk-space.md", "contributors/differences.md", "pinned-images.md"]
)
def test_a_page_names_only_commands_and_options_that_exist(page: str) -> None:
    text = (PAGE.parent / page).read_text(encoding="utf-8")
    named = re.findall(r"(?:`|^ +(?:[^`\n]*\| )?)(lading [a-z][^`\n]*)", text, flags=re.MULTILINE)
    assert named
    for line in named:
        words = line.partition(" #")[0].split()
        name = max((one for one in COMMANDS if line.startswith(one)), key=len, default="")
        assert name, f"{page}: {line}"
        known = {text for one in COMMANDS[name].params for text in one.opts}
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert given <= known, f"{page}: {line}"
