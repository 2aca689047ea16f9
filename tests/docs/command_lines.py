"""The commands of Lading that a text names: in backquotes, after a prompt, or indented."""

import re
from collections.abc import Iterator

from tests.cli.commands import COMMANDS

_NAMED = re.compile(r"(?:`|^ *\$ |^ {4,}(?:[^`\n]*\| )?)(lading [a-z][^`\n]*)", re.MULTILINE)
GROUPS = {name.rpartition(" ")[0] for name in COMMANDS}


def named(text: str) -> Iterator[str]:
    for line in _NAMED.findall(text.replace("\\\n", " ")):
        for command in re.split(r"; |&& |(?<=\w) \| ", line.partition(" #")[0]):
            if command.startswith("lading "):
                yield command


def check(line: str) -> None:
    """The command exists, with all the options that it is given."""
    words = line.split()
    name = max((one for one in COMMANDS if f"{line} ".startswith(f"{one} ")), key=len, default="")
    if not name:
        group = line.partition("|")[0].strip().rpartition(" ")[0] if "|" in line else line.strip()
        assert group in GROUPS or words[:2] == ["lading", "..."], line
        return
    known = {text for one in COMMANDS[name].params for text in one.opts}
    given = {word.partition("=")[0].rstrip(",.;:)") for word in words if word.startswith("--")}
    assert given <= known | {"--", "--help"}, line
