"""Images of a plan: what they are made of, and whether their registries hand them out now.

What a digest resolves to never changes, so it comes from the journal where it is known. That an
image could be had once says nothing about today: what a plan would pull is asked for.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from lading.kernel.images import ImageKey, Resolution
from lading.kernel.platforms import Platform
from lading.pinned_images.node.resolutions import Resolver
from lading.pinned_images.node.types import FailedResolution
from lading.ports.clock import Clock
from lading.ports.journal import Journal
from lading.ports.registry import Registry


class _NothingNoted:
    def entries(self) -> Mapping[str, Any]:
        return {}

    def put(self, key: str, value: Any) -> None:
        """What is asked now is only true now."""


class PlannedImages:
    def __init__(self, noted: Resolver, asked: Resolver) -> None:
        self._noted = noted
        self._asked = asked
        self._from_journal: set[ImageKey] = set()

    async def resolve(self, keys: Set[ImageKey]) -> None:
        """Each key at most once, however many nodes want it."""
        new = keys - self._noted.resolutions().keys() - self._noted.failed().keys()
        self._noted.resolve(new)
        self._from_journal |= new & self._noted.resolutions().keys()
        await self._noted.wait()

    def resolutions(self) -> Mapping[ImageKey, Resolution]:
        return self._noted.resolutions()

    def failed(self) -> Mapping[ImageKey, FailedResolution]:
        return self._noted.failed()

    async def failures_now(self, keys: Iterable[ImageKey]) -> Mapping[ImageKey, FailedResolution]:
        """Of those that only the journal knows; the others were asked for a moment ago."""
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
        _resolver(registry, clock, _NothingNoted(), platform_of),
    )


async def failures_now(
    registry: Registry,
    clock: Clock,
    keys: Iterable[ImageKey],
    *,
    platform_of: Callable[[str], Platform],
) -> Mapping[ImageKey, FailedResolution]:
    """For images that another command resolved."""
    resolver = _resolver(registry, clock, _NothingNoted(), platform_of)
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
