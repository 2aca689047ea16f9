"""Reads the inventory of a plain registry by its API: repositories, tags, manifests, referrers.

A tag costs one HEAD, a digest that is not known yet one GET. Untagged manifests cannot be listed:
only those that a tag, an index, a list of referrers or a reference leads to are known. A list that
breaks off is an error; a manifest that cannot be read keeps its repository.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import msgspec

from lading.kernel import digests
from lading.kernel.errors import Malformed
from lading.kernel.manifests import CONFIG_BYTES_MAX
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine import documents, names, parallel
from lading.pruning.engine.ledger import FirstSeen, Ledger
from lading.pruning.engine.manifest_table import InventoryManifest, ManifestTable
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.types import Inventory, Repository, Revision, Source, Tag

T = TypeVar("T")
WORKERS_DEFAULT = 5  # as oc
_UNREADABLE_ANSWERS = (
    registries.DigestMismatch,
    registries.MalformedAnswer,
    registries.SizeMismatch,
    registries.TooLarge,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    registry: str
    leave_out: Callable[[str], bool] = lambda _repository: False
    """The repositories of the trash: their content is no inventory."""
    repositories: tuple[str, ...] = ()
    """Those to read where the registry has no catalogue; empty for the catalogue."""
    workers: int = WORKERS_DEFAULT
    with_created: bool = False
    progress: PruneProgress = field(default_factory=PruneProgress)


async def inventory(
    registry: RegistryAdministration,
    scope: Scope,
    *,
    known: ManifestTable,
    remembered: Ledger,
    used: Iterable[tuple[str, str]] = (),
) -> Inventory:
    """`remembered` says since when each tag names its digest.

    `used` are the paths and digests of references: an index in use may have no tag, and its
    manifests may be those of another index, too.
    """
    every = scope.repositories or await _catalogue(registry, scope.registry)
    chosen = sorted(name for name in every if not scope.leave_out(name))
    scope.progress.begin("reading repositories", len(chosen))
    reader = _Reader(registry, scope, known, used)

    async def dated(name: str) -> Repository:
        return _dated(await reader.repository(name), remembered.of(name))

    found = await parallel.results(dated, chosen, workers=scope.workers)
    repositories = {one.name: one for one in found}
    held = (digest for one in repositories.values() for digest in one.manifests)
    return Inventory(
        source=Source.REGISTRY,
        registry=scope.registry,
        repositories=repositories,
        manifests=known.only(held),
    )


async def _catalogue(registry: RegistryAdministration, name: str) -> tuple[str, ...]:
    try:
        return await registry.catalogue(name)
    except (registries.NotFound, registries.Unsupported, registries.Denied) as error:
        raise registries.Unsupported(
            f"{name} does not list its repositories ({error}); name them with --repository"
        ) from error


def _dated(repository: Repository, first_seen: FirstSeen) -> Repository:
    def dated(tag: Tag) -> Tag:
        digest, time = first_seen.get(tag.name, ("", None))
        return Tag(tag.name, tag.digest, time if digest == tag.digest else None)

    return Repository(
        name=repository.name,
        tags=tuple(map(dated, repository.tags)),
        manifests=repository.manifests,
        opaque_digests=repository.opaque_digests,
    )


class _Reader:
    def __init__(
        self,
        registry: RegistryAdministration,
        scope: Scope,
        known: ManifestTable,
        used: Iterable[tuple[str, str]],
    ) -> None:
        self._registry = registry
        self._scope = scope
        self._known = known
        self._used: dict[str, list[tuple[str, str]]] = {}
        """By the last part of the path, in which paths that end alike agree."""
        for path, digest in used:
            self._used.setdefault(path.rpartition("/")[2], []).append((path, digest))
        self._slots = asyncio.Semaphore(scope.workers)
        self._has_referrers = True

    async def repository(self, name: str) -> Repository:
        async with self._slots:
            tag_names = await self._registry.tags(self._reference(name))
        heads = await self._each(lambda tag: self._head(name, tag), sorted(tag_names))
        tags = tuple(tag for tag in heads if tag is not None)
        opaque: list[str] = []
        held: set[str] = set()
        pending = {tag.digest for tag in tags}
        used = await self._each(
            lambda one: self._used_digest(name, one), sorted(self._used_in(name) - pending)
        )
        pending |= {*used} - {""}
        while pending:
            held |= pending
            read = await self._each(lambda one: self._manifest(name, one), sorted(pending))
            present = [one for one in read if one is not None]
            opaque += [one.digest for one in present if one.is_opaque]
            held -= pending - {one.digest for one in present}
            related = await self._each(
                lambda one: self._referrers(name, one), [one.digest for one in present]
            )
            following = {child for one in present for child in one.children}
            following |= {digest for found in related for digest in found}
            pending = following - held
        self._scope.progress.advance()
        return Repository(
            name=name,
            tags=tags,
            manifests=tuple(sorted(held)),
            opaque_digests=tuple(sorted(opaque)),
        )

    async def _each(self, work: Callable[[str], Awaitable[T]], names: Sequence[str]) -> list[T]:
        return await parallel.results(work, names, workers=self._scope.workers)

    async def _head(self, repository: str, tag: str) -> Tag | None:
        """A tag that is gone since the list was read is no tag."""
        async with self._slots:
            found = await self._registry.head(self._reference(repository, tag=tag))
        if found is None:
            return None
        return Tag.of(tag, [Revision(self._known.shared(str(found.digest)))])

    def _used_in(self, repository: str) -> set[str]:
        named = self._used.get(repository.rpartition("/")[2], ())
        return {digest for path, digest in named if names.paths_end_alike(path, repository)}

    async def _used_digest(self, repository: str, digest: str) -> str:
        """Empty for a manifest that another repository is known to have and this one has not."""
        if digest in self._known:
            async with self._slots:
                if await self._registry.head(self._reference(repository, digest=digest)) is None:
                    return ""
        return self._known.shared(digest)

    async def _manifest(self, repository: str, digest: str) -> InventoryManifest | None:
        known = self._known.get(digest)
        if known is not None and not (self._scope.with_created and known.created_at is None):
            return known
        reference = self._reference(repository, digest=digest)
        async with self._slots:
            try:
                answer = await self._registry.manifest(reference)
            except registries.NotFound:
                return None
            except _UNREADABLE_ANSWERS:
                return InventoryManifest(digest=digest, is_opaque=True)
            manifest, sizes = documents.read(digest, answer.content)
            config = documents.config_of(answer.content) if self._scope.with_created else ""
            if config:
                created = await self._created(repository, config)
                manifest = msgspec.structs.replace(manifest, created_at=created)
        if not manifest.is_opaque:
            self._known.add(manifest)
            self._known.add_sizes(sizes)
        return manifest

    async def _created(self, repository: str, config: str) -> datetime | None:
        try:
            content = await self._registry.blob(
                self._reference(repository), digests.parse(config), bytes_max=CONFIG_BYTES_MAX
            )
        except (registries.RegistryError, Malformed):
            return None
        return documents.created(content)

    async def _referrers(self, repository: str, digest: str) -> tuple[str, ...]:
        """Asked until the registry says that it has no such list."""
        async with self._slots:
            if not self._has_referrers:
                return ()
            found = await self._registry.referrers(self._reference(repository, digest=digest))
        if found is None:
            self._has_referrers = False
            return ()
        return tuple(self._known.shared(str(one.digest)) for one in found)

    def _reference(self, repository: str, *, tag: str = "", digest: str = "") -> Reference:
        return Reference(
            registry=self._scope.registry,
            repository=repository,
            tag=tag or None,
            digest=digests.parse(digest) if digest else None,
        )
