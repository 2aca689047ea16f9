"""MkDocs shows a page as a forge does: it is stricter about empty lines and indentation."""

import re
from collections.abc import Iterator

import pytest

from tests.docs import pages

_TABLE = re.compile(r" *\|")
_ITEM = re.compile(r" *([-*]|\d+\.) ")
_COMMENT = "<!--"


def problems(text: str) -> Iterator[str]:
    """What MkDocs would show as running text, by line."""
    before = ""
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and (problem := _problem(line, before)):
            yield f"line {number}: {problem}"
        before = line


def _problem(line: str, before: str) -> str:
    follows_text = bool(before.strip()) and not before.startswith(_COMMENT)
    if _TABLE.match(line) and follows_text and not _TABLE.match(before):
        return "a table needs an empty line before it"
    is_text = not before.startswith((" ", "#")) and not _ITEM.match(before)
    if _ITEM.match(line) and follows_text and is_text:
        return "a list needs an empty line before it"
    indent = len(line) - len(line.lstrip())
    if line.strip() and not before.strip() and indent % 4:
        return "what belongs to an item is indented by four, eight, ..."
    return ""


def test_a_page_is_shown_by_the_site_as_by_a_forge() -> None:
    found = [
        f"{page.relative_to(pages.DOCS)}: {problem}"
        for page in pages.PAGES
        for problem in problems(page.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "Reasons:\n| a | b |",
        "Reasons:\n- a",
        "1. a\n\n   | a |",
        "- a\n\n      code",
        "- a\n\n  more",
    ],
)
def test_what_the_site_would_not_show_is_found(text: str) -> None:
    assert list(problems(text))


@pytest.mark.parametrize(
    "text",
    [
        "Reasons:\n\n| a | b |\n|---|---|",
        "- a\n  more\n- b",
        "1. a\n\n    | a |",
        "```\na\n- b\n```",
    ],
)
def test_what_the_site_shows_is_accepted(text: str) -> None:
    assert not list(problems(text))
