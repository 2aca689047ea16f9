"""Reads the inventory of a plain registry by its API: repositories, tags, manifests, referrers.

It sends one request for each tag, and for each unknown manifest without a tag. The API does not
list untagged manifests: only those are known that a tag, an index, a list of referrers, a reference
or the ledger names. An incomplete list is an error. A manifest that cannot be read keeps its
repository.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from datetime import datetime
from typing import TypeVar

import msgspec

from lading.kernel import digests, references
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.manifests import CONFIG_BYTES_MAX
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.inventory import documents, parallel
from lading.pruning.engine.inventory.manifest_table import InventoryManifest, ManifestTable
from lading.pruning.engine.ledger import FirstSeen, Ledger
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references import names
from lading.pruning.engine.types import Inventory, Repository, Revision, Source, Tag

T = TypeVar("T")
WORKERS_DEFAULT = 5  # as oc
_SHA256 = "sha256:"
_UNREADABLE_ANSWERS = (
    registries.DigestMismatch,
    registries.MalformedAnswer,
    registries.SizeMismatch,
    registries.TooLarge,
)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    registry: str
    leave_out: Callable[[str], bool] = lambda _repository: False
    """The repositories of the trash are not part of the inventory."""
    repositories: tuple[str, ...] = ()
    """The repositories to read; empty: all of the catalogue."""
    workers: int = WORKERS_DEFAULT
    with_created: bool = False
    progress: PruneProgress = msgspec.field(default_factory=PruneProgress)


async def inventory(
    registry: RegistryAdministration,
    scope: Scope,
    *,
    known: ManifestTable,
    remembered: Ledger,
    used: Iterable[tuple[str, str]] = (),
) -> Inventory:
    """`remembered` has the age of each tag, and manifests that a run may have left.

    `used` are the paths and digests of references: a used index may have no tag, and may share
    manifests with another index. `with_referrers` adds referrers.
    """
    every = scope.repositories or (
        *await _catalogue(registry, scope.registry),
        *remembered.unfinished,  # a registry may not list a repository without tags
    )
    chosen = sorted({name for name in every if not scope.leave_out(name)})
    scope.progress.begin("reading repositories", len(chosen))
    reader = _Reader(registry, scope, known, used)

    async def dated(name: str) -> Repository:
        first_seen = remembered.of(name)
        left = remembered.unfinished.get(name, ())
        return _dated(await reader.repository(name, first_seen, left), first_seen)

    return _inventory(scope, await parallel.results(dated, chosen, workers=scope.workers), known)


async def with_referrers(
    registry: RegistryAdministration,
    scope: Scope,
    inventory: Inventory,
    repositories: Iterable[str],
    *,
    known: ManifestTable,
) -> Inventory:
    """The same inventory, with the untagged referrers of these repositories."""
    chosen = sorted(repositories)
    scope.progress.begin("reading referrers", len(chosen))
    reader = _Reader(registry, scope, known, ())

    async def asked(name: str) -> Repository:
        return await reader.with_referrers(inventory.repositories[name])

    found = await parallel.results(asked, chosen, workers=scope.workers)
    every = {**inventory.repositories, **{one.name: one for one in found}}
    return _inventory(scope, every.values(), known)


def _inventory(scope: Scope, found: Iterable[Repository], known: ManifestTable) -> Inventory:
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
        found = await registry.catalogue(name)
    except (registries.NotFound, registries.Unsupported, registries.Denied) as error:
        raise registries.Unsupported(
            f"{name} does not list its repositories ({error}); name them with --repository"
        ) from error
    for one in found:
        # Some registries allow upper case. Anything else would lead to another address.
        if not references.is_repository(one.lower()):
            raise registries.MalformedAnswer(
                f"catalogue of {name}: {one[:64]!r} is not a repository; name those to prune with"
                " --repository"
            )
    return found


def _dated(repository: Repository, first_seen: FirstSeen) -> Repository:
    def dated(tag: Tag) -> Tag:
        digest, time = first_seen.get(tag.name, ("", None))
        return Tag(tag.name, tag.digest, time if digest == tag.digest else None)

    return replace(repository, tags=tuple(map(dated, repository.tags)))


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
        """By the last part of the path, which is the same for paths that end alike."""
        for path, digest in used:
            self._used.setdefault(path.rpartition("/")[2], []).append((path, digest))
        self._slots = asyncio.Semaphore(scope.workers)
        self._knows_nothing = not known

    async def repository(
        self, name: str, first_seen: FirstSeen, unfinished: Sequence[str]
    ) -> Repository:
        async with self._slots:
            tag_names = await self._registry.tags(self._reference(name))
        if bad := [one for one in tag_names if not references.is_tag(one)]:
            raise registries.MalformedAnswer(f"tags of {name}: {bad[0][:64]!r} is not a tag")
        found = await self._each(lambda tag: self._tag(name, tag, first_seen), sorted(tag_names))
        tags = tuple(tag for tag in found if tag is not None)
        tagged = {tag.digest for tag in tags}
        used = await self._present(name, self._used_in(name) - tagged)
        held, opaque = await self._held(name, tagged | used)
        tags, unread = await self._with_manifests(name, tags, held)
        opaque |= unread
        left = await self._present(name, {*unfinished} - held)
        left_held, left_opaque = await self._held(name, left, known_here=held)
        self._scope.progress.advance()
        return Repository(
            name=name,
            tags=tags,
            manifests=tuple(sorted(held | left_held)),
            opaque_digests=tuple(sorted(opaque | left_opaque)),
            left_over=tuple(sorted(left & left_held)),
        )

    async def _with_manifests(
        self, repository: str, tags: tuple[Tag, ...], held: Set[str]
    ) -> tuple[tuple[Tag, ...], set[str]]:
        """The existing tags, and digests that tags name but the registry does not have.

        Such a tag may be the only way to an image, so its manifest counts as unreadable.
        """
        unread = {tag.name: tag.digest for tag in tags if tag.digest not in held}

        async def still(tag: str) -> str:
            async with self._slots:
                found = await self._registry.head(self._reference(repository, tag=tag))
            return "" if found is None else tag

        there = {*await self._each(still, [*unread])}
        left = tuple(tag for tag in tags if tag.name not in unread or tag.name in there)
        return left, {unread[tag] for tag in there - {""}}

    async def with_referrers(self, repository: Repository) -> Repository:
        """Also for a referrer, and the manifests that it holds."""
        name = repository.name
        attached, others = await self._first_list(name, repository.manifests)
        self._scope.progress.advance()
        if attached is None:
            return repository
        held, opaque = set(repository.manifests), set(repository.opaque_digests)
        pending = attached | await self._attached(name, others)
        while pending := pending - held:
            present, unreadable = await self._held(name, pending, known_here=held)
            held |= present
            opaque |= unreadable
            pending = await self._attached(name, present)
        return replace(
            repository,
            manifests=tuple(sorted(held)),
            opaque_digests=tuple(sorted(opaque)),
        )

    async def _held(
        self, repository: str, roots: Set[str], *, known_here: Set[str] = frozenset()
    ) -> tuple[set[str], set[str]]:
        """These and the manifests in them that are not `known_here`; and unreadable ones."""
        held: set[str] = set()
        opaque: set[str] = set()
        asked: set[str] = {*known_here}
        pending = {*roots}
        while pending:
            asked |= pending
            read = await self._each(lambda one: self._manifest(repository, one), sorted(pending))
            present = [one for one in read if one is not None]
            held |= {one.digest for one in present}
            opaque |= {one.digest for one in present if one.is_opaque}
            pending = {child for one in present for child in one.children} - asked
        return held, opaque

    async def _each(self, work: Callable[[str], Awaitable[T]], names: Sequence[str]) -> list[T]:
        return await parallel.results(work, names, workers=self._scope.workers)

    async def _tag(self, repository: str, tag: str, first_seen: FirstSeen) -> Tag | None:
        """A tag that disappeared since the list was read does not count.

        If the manifest is probably unknown, one request reads it together with its digest.
        """
        place = self._reference(repository, tag=tag)
        async with self._slots:
            digest = "" if self._is_known(tag, first_seen) else await self._read_by_tag(place)
            if not digest:
                found = await self._registry.head(place)
                digest = "" if found is None else str(found.digest)
        return Tag.of(tag, [Revision(self._known.shared(digest))]) if digest else None

    def _is_known(self, tag: str, first_seen: FirstSeen) -> bool:
        if not first_seen:
            return not self._knows_nothing
        return tag in first_seen and first_seen[tag][0] in self._known

    async def _read_by_tag(self, place: Reference) -> str:
        """Its digest; empty if the tag is gone or its manifest cannot be read."""
        try:
            answer = await self._registry.tagged_manifest(place)
        except (registries.NotFound, *_UNREADABLE_ANSWERS):
            return ""
        await self._learn(place.repository, str(answer.digest), answer.content)
        return str(answer.digest)

    def _used_in(self, repository: str) -> set[str]:
        named = self._used.get(repository.rpartition("/")[2], ())
        return {digest for path, digest in named if names.paths_end_alike(path, repository)}

    async def _present(self, repository: str, digests: Set[str]) -> set[str]:
        """The digests in this repository. Manifests that were never read are not checked."""
        found = await self._each(lambda one: self._if_present(repository, one), sorted(digests))
        return {*found} - {""}

    async def _if_present(self, repository: str, digest: str) -> str:
        if digest in self._known and not await self._is_there(repository, digest):
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
            return await self._learn(repository, digest, answer.content)

    async def _learn(self, repository: str, digest: str, content: bytes) -> InventoryManifest:
        manifest, sizes = documents.read(digest, content)
        if not digest.startswith(_SHA256):
            # Some runtimes report what they run by SHA-256, whatever the registry states.
            own = (*manifest.blobs, str(Digest.of(content)))
            manifest = replace(manifest, blobs=own)
        config = documents.config_of(content) if self._scope.with_created else ""
        if config:
            created = await self._created(repository, config)
            manifest = replace(manifest, created_at=created)
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

    async def _first_list(
        self, repository: str, manifests: Sequence[str]
    ) -> tuple[set[str] | None, Sequence[str]]:
        """The first list of referrers, and the manifests to ask for next.

        None if the registry has no such lists. A manifest that does not exist has none either,
        which is common for some platforms of an index.
        """
        for position, digest in enumerate(manifests, start=1):
            found = await self._referrers(repository, digest)
            if found is not None:
                return found, manifests[position:]
            if position == len(manifests) or await self._is_there(repository, digest):
                break
        return None, ()

    async def _attached(self, repository: str, digests: Iterable[str]) -> set[str]:
        found = await self._each(
            lambda one: self._listed_referrers(repository, one), sorted(digests)
        )
        return {digest for one in found for digest in one}

    async def _listed_referrers(self, repository: str, digest: str) -> set[str]:
        """If the registry has such lists, a missing list is an incomplete inventory."""
        found = await self._referrers(repository, digest)
        if found is not None:
            return found
        if not await self._is_there(repository, digest):
            return set()
        raise registries.MalformedAnswer(
            f"{self._scope.registry} lists referrers in {repository}, but not those of {digest}"
        )

    async def _is_there(self, repository: str, digest: str) -> bool:
        async with self._slots:
            return await self._registry.head(self._reference(repository, digest=digest)) is not None

    async def _referrers(self, repository: str, digest: str) -> set[str] | None:
        async with self._slots:
            found = await self._registry.referrers(self._reference(repository, digest=digest))
        if found is None:
            return None
        return {self._known.shared(str(one.digest)) for one in found}

    def _reference(self, repository: str, *, tag: str = "", digest: str = "") -> Reference:
        return Reference(
            registry=self._scope.registry,
            repository=repository,
            tag=tag or None,
            digest=digests.parse(digest) if digest else None,
        )
