"""Images of a plan: their layers and sizes, and whether their registries serve them now.

The content of a digest never changes, so the journal is used where it knows it. An image may be
gone from its registry meanwhile, so images that a plan would pull are looked up again.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from lading.kernel.images import ImageKey, Resolution
from lading.kernel.platforms import Platform
from lading.pinned_images.node.resolutions import Resolver
from lading.pinned_images.node.types import FailedResolution
from lading.ports.clock import Clock
from lading.ports.node import Journal
from lading.ports.registry import Registry


class _NoJournal:
    def entries(self) -> Mapping[str, Any]:
        return {}

    def put(self, key: str, value: Any) -> None:
        """Results are not cached."""


class PlannedImages:
    def __init__(self, noted: Resolver, asked: Resolver) -> None:
        self._noted = noted
        self._asked = asked
        self._from_journal: set[ImageKey] = set()

    async def resolve(self, keys: Set[ImageKey]) -> None:
        """Resolves each key at most once, also if several nodes want it."""
        new = keys - self._noted.resolutions().keys() - self._noted.failed().keys()
        self._noted.resolve(new)
        self._from_journal |= new & self._noted.resolutions().keys()
        await self._noted.wait()

    def resolutions(self) -> Mapping[ImageKey, Resolution]:
        return self._noted.resolutions()

    def failed(self) -> Mapping[ImageKey, FailedResolution]:
        return self._noted.failed()

    async def failures_now(self, keys: Iterable[ImageKey]) -> Mapping[ImageKey, FailedResolution]:
        """Looks up the keys that only the journal knows. The others were looked up just now."""
        unsure = self._from_journal.intersection(keys)
        self._asked.resolve(unsure - self._asked.failed().keys())
        await self._asked.wait()
        return self._asked.failed()

    async def close(self) -> None:
        await self._noted.close()
        await self._asked.close()


def of(
    registry: Registry, clock: Clock, journal: Journal, *, platform_of: Callable[[str], Platform]
) -> PlannedImages:
    return PlannedImages(
        _resolver(registry, clock, journal, platform_of),
        _resolver(registry, clock, _NoJournal(), platform_of),
    )


async def failures_now(
    registry: Registry,
    clock: Clock,
    keys: Iterable[ImageKey],
    *,
    platform_of: Callable[[str], Platform],
) -> Mapping[ImageKey, FailedResolution]:
    """Looks up images that are resolved already."""
    resolver = _resolver(registry, clock, _NoJournal(), platform_of)
    try:
        resolver.resolve(keys)
        await resolver.wait()
        return resolver.failed()
    finally:
        await resolver.close()


def _resolver(
    registry: Registry, clock: Clock, journal: Journal, platform_of: Callable[[str], Platform]
) -> Resolver:
    return Resolver(
        registry=registry,
        journal=journal,
        clock=clock,
        platform_of=platform_of,
        changed=lambda: None,
    )
