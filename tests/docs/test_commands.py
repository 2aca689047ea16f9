"""Every command of Lading that a page names exists, with all the options that it is given.

A page is also the README of an example or of a feature, an alert, and what Helm prints.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.docs import command_lines, pages

DEPLOY = pages.REPOSITORY / "deploy"
TEXTS = [
    *pages.PAGES,
    *sorted({*pages.REPOSITORY.glob("*.md")} - {pages.REPOSITORY / "CHANGELOG.md"}),
    *sorted((pages.REPOSITORY / "examples").rglob("*.md")),
    *sorted((pages.REPOSITORY / "src").rglob("*.md")),
    *sorted((DEPLOY / "chart" / "monitoring").glob("*-rules.yaml")),
    DEPLOY / "chart" / "values.yaml",
    DEPLOY / "chart" / "templates" / "NOTES.txt",
]


def test_a_page_names_only_commands_and_options_that_exist() -> None:
    for page in TEXTS:
        for line in command_lines.named(page.read_text(encoding="utf-8")):
            command_lines.check(line)  # its error shows the line


MANIFESTS = sorted(
    one
    for folder in (pages.REPOSITORY / "examples", DEPLOY / "base")
    for one in folder.rglob("*.yaml")
    if "args:" in one.read_text(encoding="utf-8")
)


def arguments(value: object) -> Iterator[list[str]]:
    """Those of every container, however deep."""
    match value:
        case {"image": str(), "args": [*words]}:
            yield [str(one) for one in words]
        case dict():
            yield from (found for one in value.values() for found in arguments(one))
        case list():
            yield from (found for one in value for found in arguments(one))


@pytest.mark.parametrize(
    "file", MANIFESTS, ids=lambda file: str(file.relative_to(pages.REPOSITORY))
)
def test_a_manifest_starts_commands_with_options_that_exist(file: Path) -> None:
    found = list(arguments(list(yaml.safe_load_all(file.read_text(encoding="utf-8")))))
    assert found
    for words in found:
        command_lines.check(" ".join(("lading", *words)))


@pytest.mark.parametrize(
    "line",
    ["lading prepull state", "lading pin wait --time=1m", "lading pins", "lading pin wait --o"],
)
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    (found,) = command_lines.named(f"Run `{line}`.")
    with pytest.raises(AssertionError, match=line):
        command_lines.check(found)
