"""Checks kept tags before and after the first deletion of a run.

So a registry that deletes more than it should is noticed at the first image.
"""

from collections.abc import Sequence, Set

import msgspec

from lading.kernel import digests
from lading.kernel.references import Reference
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.types import Decision, Deletion, Inventory, PrunePlan

CANARY_TAGS_MAX = 20


class CanaryFailed(Exception):
    """The first deletion also deleted something else. The run ends with exit code 3."""


class KeptTag(msgspec.Struct, frozen=True, kw_only=True):
    """A tag that must not change with the first deletion."""

    repository: str
    tag: str
    digest: str


def kept_tags(
    lines: Sequence[Deletion], plan: PrunePlan, inventory: Inventory
) -> tuple[KeptTag, ...]:
    """Of the first repository with a deletion."""
    repository = inventory.repositories.get(lines[0].repository) if lines else None
    if repository is None:
        return ()
    kept = (
        KeptTag(repository=repository.name, tag=tag.name, digest=tag.digest)
        for tag in repository.tags
        if plan.tag_verdicts[repository.name, tag.name].decision is Decision.KEEP
    )
    return tuple(kept)[:CANARY_TAGS_MAX]


class Canary:
    def __init__(self, registry: RegistryAdministration, name: str) -> None:
        self._registry = registry
        self._name = name
        self._confirmed: dict[tuple[str, str], str] = {}
        """The digests of kept tags right before the first deletion; empty after it."""

    async def confirm(self, kept: Sequence[KeptTag]) -> None:
        for one in kept:
            found = await self._registry.head(self._tag(one.repository, one.tag))
            if found is not None:
                self._confirmed[one.repository, one.tag] = str(found.digest)

    async def kept_tag_that_moved_to(self, line: Deletion) -> str:
        """Called right before the deletion: reads the other kept tags again."""
        for repository, tag in self._confirmed:
            found = await self._registry.head(self._tag(repository, tag))
            if found is None:
                continue
            self._confirmed[repository, tag] = str(found.digest)
            if repository == line.repository and str(found.digest) == line.digest:
                return tag
        return ""

    async def check_lost(self, line: Deletion, lost: Set[str]) -> None:
        """A tag that named another image just before cannot be deleted with this one."""
        for tag in sorted(lost):
            digest = self._confirmed.get((line.repository, tag), line.digest)
            if digest != line.digest:
                place = self._tag(line.repository, tag)
                manifest = await self._registry.manifest(place.at(digests.parse(digest)))
                await self._registry.push_manifest(place, manifest)
                raise _failed(place, str(line))

    async def check(self, deleted: Sequence[Deletion]) -> None:
        for repository, tag in self._confirmed:
            place = self._tag(repository, tag)
            if await self._registry.head(place) is None:
                raise _failed(place, ", ".join(map(str, deleted)))
        self._confirmed.clear()

    def _tag(self, repository: str, tag: str) -> Reference:
        return Reference(registry=self._name, repository=repository, tag=tag)


def _failed(place: Reference, gone: str) -> CanaryFailed:
    return CanaryFailed(
        f"{place} was gone after the deletion of {gone}, though it is another image. Nothing"
        " else is deleted; `lading prune restore` restores images from the trash"
    )
