"""The pages of docs/, and what their fenced blocks hold: commands with their output, and files.

A block ` ```console ` is a session: `$ ` begins a command, and the lines below are its output. In
an expected line `...` stands for any text, and a line of `...` alone for any lines. A block
` ```yaml title="NAME" ` is a file of that name. A block with a title of `NOT_RUN` needs more
than Python: those of `KUBERNETES`, CRI-O and containerd run in tests/real, the others are only
parsed.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
KUBERNETES = "Kubernetes"
NOT_RUN = ("OpenShift", "Cloud", "vSphere", KUBERNETES, "CRI-O", "containerd")
"""Titles of console blocks."""

_FENCE = re.compile(
    r"^( *)```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL
)
"""In a list, a block is indented."""
_PROMPT = "$ "


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    line: int
    text: str
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    name: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    line: int
    language: str
    title: str
    content: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        _, language, title, content = found.groups(default="")
        line = text.count("\n", 0, found.start()) + 2
        yield Block(line=line, language=language, title=title, content=textwrap.dedent(content))


def steps(page: Path) -> list[Command | File]:
    """The files and the commands of a page that a test runs, in their order."""
    found: list[Command | File] = []
    for block in blocks(page):
        if block.language == "console" and block.title not in NOT_RUN:
            found.extend(commands(block))
        elif block.title and block.language != "console":
            found.append(File(name=block.title, content=block.content))
    return found


def commands(block: Block) -> list[Command]:
    """A command may continue on the next line after a backslash."""
    found: list[Command] = []
    continued = False
    for line, text in enumerate(block.content.splitlines(), start=block.line):
        if continued or text.startswith(_PROMPT):
            earlier = found.pop().text[:-1] if continued else ""
            words = text.strip() if continued else text.removeprefix(_PROMPT)
            found.append(Command(line=line, text=f"{earlier}{words}"))
            continued = words.endswith("\\")
        else:
            assert found, f"line {line}: output before the first command"
            last = found.pop()
            expected = (*last.expected, text)
            found.append(Command(line=last.line, text=last.text, expected=expected))
    return found


def matches(expected: tuple[str, ...], output: str) -> bool:
    """The widths of columns do not count: names, such as that of a port, have other lengths."""
    parts = [_pattern(line) for line in expected]
    shown = "".join(f"{' '.join(line.split())}\n" for line in output.splitlines())
    return re.fullmatch("".join(parts), shown) is not None


def _pattern(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*\n)*?"
    words = (re.escape(part) for part in " ".join(line.split()).split("..."))
    return f"{'.*?'.join(words)}\n"
