"""Finds what needs a manifest of the plan, and is newer than the inventory.

A push may add an index that holds existing manifests, and a reference may name an untagged index.
New tags and references are checked before a deletion, moved tags after it.
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
        """By repository and tag, the first digest of a tag that is newer than the inventory."""
        self._needed: dict[str, frozenset[str]] = {}
        """By digest, all that a manifest is and holds; it never changes."""

    async def tag_needing(self, line: Deletion, tags: Set[str], *, deleted: Set[str]) -> str:
        """One of these tags that is new, or was deleted and exists again."""
        for tag in sorted(tags - (self._tags(line.repository).keys() - deleted)):
            digest = await self._digest(line.repository, tag, is_deleted=tag in deleted)
            if digest and await self._needs(self._place(line.repository), digest, line.digest):
                return tag
        return ""

    async def _digest(self, repository: str, tag: str, *, is_deleted: bool) -> str:
        """Reads a new tag only once, else fast pushes would outrun the deletions.

        If the tag moves later, the check after the last deletion finds it.
        """
        key = (repository, tag)
        if is_deleted or key not in self._first_seen:
            found = await self._registry.head(self._place(*key))
            self._first_seen[key] = "" if found is None else str(found.digest)
        return self._first_seen[key]

    async def user_of(self, line: Deletion) -> str:
        """A new user of an image that holds this manifest."""
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
        """The missing manifests that a tag or a new reference needs now."""
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
        """All that a manifest is and holds: existing and missing digests."""
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
