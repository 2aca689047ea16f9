"""The repositories of a registry, the tags of a repository, and pages of either."""

import bisect
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from lading.embedded.registry.faults import Code, Fault
from lading.embedded.registry.layout import Layout

PAGE_NAMES_MAX = 1000  # the distribution project's limit for its catalog


class CatalogPage(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    has_more: bool


def repositories(layout: Layout) -> list[str]:
    """Every repository that ever had a manifest, sorted."""
    top = layout.repositories
    folders = repository_folders(top)
    return sorted(
        folder.relative_to(top).as_posix() for folder in folders if (folder / "_manifests").is_dir()
    )


def repository_folders(top: Path) -> Iterator[Path]:
    """The folders of repositories; no repository name begins with an underscore."""
    for current, folders, _files in os.walk(top):
        own = [folder for folder in folders if folder.startswith("_")]
        folders[:] = [folder for folder in folders if not folder.startswith("_")]
        if own:
            yield Path(current)


def tags(layout: Layout, name: str) -> list[str]:
    """The tags, sorted, without those that are being written or removed."""
    try:
        candidates = os.listdir(layout.tags(name))
    except FileNotFoundError:
        if layout.manifests(name).is_dir():
            return []
        raise Fault(Code.NAME_UNKNOWN, "repository unknown", detail=name) from None
    return sorted(tag for tag in candidates if layout.tag_link(name, tag).is_file())


def page(names: Sequence[str], *, count: str | None, last: str | None) -> CatalogPage:
    """The `count` names after `last`; both as the client wrote them."""
    begin = bisect.bisect_right(names, last) if last else 0
    if count is None:
        return CatalogPage(tuple(names[begin:]), has_more=False)
    if not count.isascii() or not count.isdigit():
        raise Fault(
            Code.PAGINATION_NUMBER_INVALID, "n must be a number and not negative", detail=count
        )
    size = min(int(count[:9]), PAGE_NAMES_MAX)
    chosen = tuple(names[begin : begin + size])
    return CatalogPage(chosen, has_more=bool(chosen) and begin + size < len(names))
