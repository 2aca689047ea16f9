"""Every command of Lading that a page names exists, with all the options that it is given."""

import re
from pathlib import Path

import pytest

from tests.cli.commands import COMMANDS
from tests.docs import pages

_NAMED = re.compile(r"(?:`|^ *\$ |^ {4,}(?:[^`\n]*\| )?)(lading [a-z][^`\n]*)", re.MULTILINE)
GROUPS = {name.rpartition(" ")[0] for name in COMMANDS}


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(pages.DOCS)))
def test_a_page_names_only_commands_and_options_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in _NAMED.findall(text):
        for command in re.split(r"; |&& |(?<=\w) \| ", line.partition(" #")[0]):
            if command.startswith("lading "):
                _check(command)


def _check(line: str) -> None:
    words = line.split()
    name = max((one for one in COMMANDS if f"{line} ".startswith(f"{one} ")), key=len, default="")
    if not name:
        group = line.partition("|")[0].strip().rpartition(" ")[0] if "|" in line else line.strip()
        assert group in GROUPS or words[:2] == ["lading", "..."], line
        return
    known = {text for one in COMMANDS[name].params for text in one.opts}
    given = {word.partition("=")[0].rstrip(",.;:)") for word in words if word.startswith("--")}
    assert given <= known | {"--", "--help"}, line
