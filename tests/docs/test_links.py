"""What a page links to or names as a source file exists, and the site has every page."""

import functools
import re
from pathlib import Path

import yaml

from tests.docs import pages

WITH_LINKS = [
    *pages.PAGES,
    *sorted(pages.REPOSITORY.glob("*.md")),
    *sorted((pages.REPOSITORY / "examples").rglob("*.md")),
    *sorted((pages.REPOSITORY / "src").rglob("*.md")),
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SOURCE = re.compile(r"`([\w./-]+\.py)`")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def test_every_link_of_a_page_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(pages.REPOSITORY)}: {link}"
        for page in WITH_LINKS
        for link in _LINK.findall(page.read_text(encoding="utf-8"))
        if not leads_somewhere(page, link)
    ]
    assert broken == []


def leads_somewhere(page: Path, link: str) -> bool:
    if link.startswith(("http://", "https://")):
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    is_heading = not anchor or target.suffix != ".md" or anchor in anchors(target)
    return target.exists() and is_heading


def test_every_source_file_that_a_page_names_exists() -> None:
    folders = ("src", "tests", "bench", "release")
    sources = [f"{path}" for one in folders for path in (pages.REPOSITORY / one).rglob("*.py")]
    missing = [
        f"{page.relative_to(pages.REPOSITORY)}: {name}"
        for page in WITH_LINKS
        for name in _SOURCE.findall(page.read_text(encoding="utf-8"))
        if not any(path.endswith(f"/{name}") for path in sources)
    ]
    assert missing == []


@functools.cache
def anchors(page: Path) -> set[str]:
    """As forges and MkDocs make them of headings."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\s-]", "", text).strip().lower().replace(" ", "-") for text in plain}


def test_the_site_lists_every_page_once() -> None:
    site = yaml.safe_load((pages.REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = sorted(pages_of(site["nav"]))
    decisions = pages.DOCS / "contributors" / "adr"
    written = [page for page in pages.PAGES if decisions not in page.parents]
    assert listed == sorted(str(page.relative_to(pages.DOCS)) for page in written)


def pages_of(entries: list[dict[str, object]]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        for value in entry.values():
            found.extend(pages_of(value) if isinstance(value, list) else [str(value)])
    return found
