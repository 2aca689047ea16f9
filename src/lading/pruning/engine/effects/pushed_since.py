"""What needs a manifest that a plan deletes, and was not there when the inventory was read.

A registry accepts an index that holds manifests which it already has, and a reference may name an
index without a tag. New tags and references are seen before a deletion, tags that moved after it.
"""

from collections.abc import Set

from lading.kernel import digests
from lading.kernel.references import Reference
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.inventory import documents
from lading.pruning.engine.references.watch import NewReferences
from lading.pruning.engine.trash.trash import read_whole
from lading.pruning.engine.types import Deletion, Inventory


class PushedSince:
    def __init__(
        self, registry: RegistryAdministration, inventory: Inventory, new: NewReferences
    ) -> None:
        self._registry = registry
        self._inventory = inventory
        self._new = new
        self._known: dict[str, dict[str, str]] = {}
        """By repository, the tags of the inventory."""
        self._first_seen: dict[tuple[str, str], str] = {}
        """By repository and tag, what a tag that is new since the inventory named at first."""
        self._needed: dict[str, frozenset[str]] = {}
        """By digest, what a manifest is and holds at any depth; it cannot change."""

    async def tag_needing(self, line: Deletion, tags: Set[str], *, deleted: Set[str]) -> str:
        """Of these tags of the repository, one that is new, or was deleted and is there again."""
        for tag in sorted(tags - (self._tags(line.repository).keys() - deleted)):
            digest = await self._digest(line.repository, tag, is_deleted=tag in deleted)
            if digest and await self._needs(self._place(line.repository), digest, line.digest):
                return tag
        return ""

    async def _digest(self, repository: str, tag: str, *, is_deleted: bool) -> str:
        """A new tag is asked once: pushes would else outrun deletions that ask for all of them.

        If it moves later, the look after the last deletion finds it.
        """
        key = (repository, tag)
        if is_deleted or key not in self._first_seen:
            found = await self._registry.head(self._place(*key))
            self._first_seen[key] = "" if found is None else str(found.digest)
        return self._first_seen[key]

    async def user_of(self, line: Deletion) -> str:
        """An object that newly uses something that holds this manifest."""
        for digest, user in self._new.named_in(line.repository).items():
            if await self._needs(self._place(line.repository), digest, line.digest):
                return user
        return ""

    async def _needs(self, place: Reference, digest: str, other: str) -> bool:
        if digest not in self._needed:
            present, missing = await self._content(place, digest)
            self._needed[digest] = present | missing
        return other in self._needed[digest]

    async def missing(self, repository: str, *, deleted: Set[str]) -> frozenset[str]:
        """The manifests that a tag or a new reference needs by now, and that are gone."""
        roots = set(self._new.named_in(repository))
        for tag in await self._registry.tags(self._place(repository)):
            found = await self._registry.head(self._place(repository, tag))
            unchanged = "" if tag in deleted else self._tags(repository).get(tag, "")
            if found is not None and str(found.digest) != unchanged:
                roots.add(str(found.digest))
        gone: frozenset[str] = frozenset()
        for digest in sorted(roots):
            gone |= (await self._content(self._place(repository), digest))[1]
        return gone

    async def _content(
        self, place: Reference, digest: str
    ) -> tuple[frozenset[str], frozenset[str]]:
        """What a manifest is and holds at any depth: what is there, and what is missing."""
        contents: dict[str, Manifest] = {}
        await read_whole(self._registry, place.at(digests.parse(digest)), contents)
        held = {
            child
            for one, manifest in contents.items()
            for child in documents.read(one, manifest.content)[0].children
        }
        return frozenset(contents), frozenset(held - contents.keys())

    def _tags(self, repository: str) -> dict[str, str]:
        if repository not in self._known:
            tags = self._inventory.repositories[repository].tags
            self._known[repository] = {tag.name: tag.digest for tag in tags}
        return self._known[repository]

    def _place(self, repository: str, tag: str | None = None) -> Reference:
        return Reference(registry=self._inventory.registry, repository=repository, tag=tag)
