"""How pages are read: sessions, files and expected lines."""

import pytest

from tests.docs import pages
from tests.docs.pages import Block, Command


def test_a_session_is_commands_with_their_output() -> None:
    content = "$ one \\\n    --two\nfirst\nsecond\n$ three\n"
    block = Block(line=7, language="console", title="", content=content)
    assert pages.commands(block) == [
        Command(line=8, text="one --two", expected=("first", "second")),
        Command(line=11, text="three"),
    ]


@pytest.mark.parametrize(
    ("expected", "output", "is_so"),
    [
        (("a   b",), "a b\n", True),
        (("a",), "a\nb\n", False),
        (("a", "b"), "a\n", False),
        (("a ... z",), "a b c z\n", True),
        (("a ... z",), "a b c\n", False),
        (("a", "...", "z"), "a\nb\nc\nz\n", True),
        (("a", "..."), "a\n", True),
        (("...", "z"), "a\nb\n", False),
        ((), "", True),
        ((), "a\n", False),
    ],
)
def test_dots_stand_for_any_text_and_any_lines(
    expected: tuple[str, ...], output: str, is_so: bool
) -> None:
    assert pages.matches(expected, output) is is_so
