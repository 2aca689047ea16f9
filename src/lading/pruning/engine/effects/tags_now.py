"""Reads what the tags of a repository name now, and what is needed since the snapshot.

The snapshot is the inventory from which the plan was made. A push may move a tag or add one, and
may add an index that holds manifests of the plan; a new reference may name an untagged index.
"""

import asyncio
from collections.abc import Mapping, Set

import msgspec

from lading.kernel import digests
from lading.kernel.references import Reference
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.inventory import documents, parallel
from lading.pruning.engine.references.watch import NewReferences
from lading.pruning.engine.trash.trash import read_whole
from lading.pruning.engine.types import Inventory

Tags = Mapping[str, str]
"""Tag -> digest."""


class NeededSince(msgspec.Struct, frozen=True):
    """What tags need that are newer than the snapshot."""

    by: Mapping[str, str]
    """By digest, the tag that needs it."""
    missing: frozenset[str]
    """What the repository does not have of that, and of what new references need."""


class TagReader:
    def __init__(
        self,
        registry: RegistryAdministration,
        inventory: Inventory,
        new: NewReferences,
        *,
        workers: int,
    ) -> None:
        self._registry = registry
        self._inventory = inventory
        self._new = new
        self._workers = workers
        self._slots = asyncio.Semaphore(workers)
        self._held: dict[tuple[str, str], frozenset[str]] = {}
        """By repository and digest, all that a manifest is and holds; it never changes."""

    async def now(self, repository: str) -> Tags:
        """One request for the names, and one for each tag."""
        names = await self._registry.tags(self._place(repository))

        async def digest(tag: str) -> str:
            async with self._slots:
                found = await self._registry.head(self._place(repository, tag))
            return "" if found is None else str(found.digest)

        found = await parallel.results(digest, names, workers=self._workers)
        return {tag: own for tag, own in zip(names, found, strict=True) if own}

    def _snapshot(self, repository: str) -> Tags:
        return {tag.name: tag.digest for tag in self._inventory.repositories[repository].tags}

    async def needed(
        self, repository: str, tags: Tags, *, deleted: Set[str] = frozenset()
    ) -> NeededSince:
        """By the tags that are not as in the snapshot, or were deleted and exist again."""
        known = self._snapshot(repository).items()
        fresh = {
            digest: tag
            for tag, digest in sorted(tags.items())
            if tag in deleted or (tag, digest) not in known
        }
        by, missing = await self._content(repository, fresh)
        _, also_missing = await self._content(repository, self._new.named_in(repository))
        return NeededSince(by, missing | also_missing)

    async def used_in(self, repository: str) -> dict[str, str]:
        """By digest, the object that uses it since the snapshot, or an index that holds it."""
        used = self._new.named_in(repository)
        if unread := {
            one: user for one, user in used.items() if (repository, one) not in self._held
        }:
            await self._content(repository, unread)
        return {
            digest: user for one, user in used.items() for digest in self._held[repository, one]
        }

    async def _content(
        self, repository: str, roots: Mapping[str, str]
    ) -> tuple[dict[str, str], frozenset[str]]:
        """All that the roots are and hold, each with the name of its root; and what is missing."""
        named: dict[str, str] = {}
        missing: set[str] = set()
        for root, name in roots.items():
            contents: dict[str, Manifest] = {}
            place = self._place(repository).at(digests.parse(root))
            await read_whole(self._registry, place, contents)
            held = {root} | {
                child
                for one, manifest in contents.items()
                for child in documents.read(one, manifest.content)[0].children
            }
            missing |= held - contents.keys()
            self._held[repository, root] = frozenset(held)
            named |= dict.fromkeys(held, name)
        return named, frozenset(missing)

    def _place(self, repository: str, tag: str | None = None) -> Reference:
        return Reference(registry=self._inventory.registry, repository=repository, tag=tag)
