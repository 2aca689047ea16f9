"""Reads the inventory of a registry from its storage, in the layout of the distribution project.

The list of objects has the repositories, tags, all manifests and their push times. It reads each
tag, and each unknown manifest. An incomplete list is an error. A link or a manifest that cannot be
read keeps its repository.
"""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime

import msgspec

from lading.kernel import digests
from lading.kernel.errors import Malformed
from lading.kernel.manifests import CONFIG_BYTES_MAX
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import storage as storages
from lading.ports.registry_administration import RegistryAdministration
from lading.ports.storage import Storage, StoredObject
from lading.pruning.engine.inventory import documents, parallel
from lading.pruning.engine.inventory.manifest_table import InventoryManifest, ManifestTable
from lading.pruning.engine.inventory.observe_registry import Scope
from lading.pruning.engine.types import Deletion, Inventory, Repository, Revision, Source, Tag

ROOT = "docker/registry/v2"
REPOSITORIES = f"{ROOT}/repositories"
DATABASE_IN_USE = "docker/registry/lockfiles/database-in-use"
"""GitLab's registry with a database has its tags and manifests there."""
SPECIAL_SHOWN_MAX = 20
LINK_BYTES_MAX = 256  # the longest digest has 135 characters
MANIFEST_BYTES_MAX = 32 * 1024 * 1024  # registries accept 4 MiB
STORED_AS = "sha256:"  # a link with another digest names the sha256 of the data
_LINK = re.compile(
    r"(?P<name>.+?)/_manifests/"
    r"(?:revisions|tags/(?P<tag>[^/]+)/(?:index|(?P<current>current)))"
    r"(?:/(?P<algorithm>[^/]+)/(?P<hex>[^/]+))?/link"
)


class NoRegistry(Exception):
    """The storage is not, or not completely, that of a registry."""


def is_of_upload(path: str) -> bool:
    """Whether it belongs to an unfinished upload, which no image needs."""
    _, _, own = path.removeprefix(f"{REPOSITORIES}/").partition("/_")
    return own == "uploads" or own.startswith("uploads/")


def refuse_special(found: Sequence[StoredObject]) -> None:
    """A symbolic link may hide images and references, so the run ends."""
    if not found:
        return
    first, *more = found
    others = f" There are {len(more)} more" if more else ""
    shown = ", ".join(storages.shown(one.path) for one in more[:SPECIAL_SHOWN_MAX])
    raise storages.NotAFile(
        f"{storages.not_a_file(first.path, first.special)}.{others}{': ' if shown else ''}{shown}"
        f"{'.' if shown else ''} Nothing is changed"
    )


class _Found(msgspec.Struct):
    """The links of one repository."""

    name: str
    revisions: dict[str, datetime] = {}
    current: dict[str, datetime] = {}
    index: dict[str, dict[str, datetime]] = {}
    opaque: list[str] = []


async def inventory(storage: Storage, scope: Scope, *, known: ManifestTable) -> Inventory:
    if await storage.head(DATABASE_IN_USE) is not None:
        raise NoRegistry(
            "the registry keeps its tags in a database (database-in-use), not in this storage;"
            " use GitLab's own garbage collection"
        )
    scope.progress.begin("listing the storage")
    found = await _links(storage, scope, known)
    reader = _Reader(storage, scope, known)
    await reader.read_manifests(found.values())
    repositories = {name: await reader.repository(one) for name, one in sorted(found.items())}
    return Inventory(
        source=Source.STORAGE,
        registry=scope.registry,
        repositories=repositories,
        manifests=reader.manifests,
    )


async def check_registry(
    storage: Storage,
    registry: RegistryAdministration,
    inventory: Inventory,
    lines: Iterable[Deletion],
) -> None:
    """If the registry has a tag and the storage does not, they do not belong together."""
    for name in sorted({line.repository for line in lines}):
        known = {tag.name for tag in inventory.repositories[name].tags}
        place = Reference(registry=inventory.registry, repository=name)
        for tag in await registry.tags(place):
            if tag not in known and await storage.head(tag_link(name, tag)) is None:
                raise NoRegistry(
                    f"{inventory.registry} has {name}:{tag}, and the storage does not: this is the"
                    " storage of another registry. Nothing is deleted"
                )


def tag_link(repository: str, tag: str) -> str:
    return f"{REPOSITORIES}/{repository}/_manifests/tags/{tag}/current/link"


def revision_link(repository: str, digest: str) -> str:
    algorithm, _, encoded = digest.partition(":")
    return f"{REPOSITORIES}/{repository}/_manifests/revisions/{algorithm}/{encoded}/link"


def data_path(digest: str) -> str:
    algorithm, _, encoded = digest.partition(":")
    return f"{ROOT}/blobs/{algorithm}/{encoded[:2]}/{encoded}/data"


async def _links(storage: Storage, scope: Scope, known: ManifestTable) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    prefixes = [f"{REPOSITORIES}/{name}" for name in scope.repositories] or [REPOSITORIES]
    is_empty = True
    for prefix in prefixes:
        async for one in _objects(storage, prefix):
            is_empty = False
            match = _LINK.fullmatch(one.path, len(REPOSITORIES) + 1)
            if match is None or scope.leave_out(match["name"]):
                continue
            if not scope.repositories or match["name"] in scope.repositories:
                _add(found.setdefault(match["name"], _Found(match["name"])), match, one, known)
    if is_empty:
        raise NoRegistry(
            f"the storage has nothing in {prefixes[0]}; give the folder or prefix that the"
            " registry has as its root directory"
        )
    return found


async def _objects(storage: Storage, prefix: str) -> AsyncIterator[StoredObject]:
    special: list[StoredObject] = []
    async for page in storage.pages(prefix):
        for one in page:
            if not one.special:
                yield one
            elif not is_of_upload(one.path):
                special.append(one)
    refuse_special(special)


def _add(
    repository: _Found, match: re.Match[str], link: StoredObject, known: ManifestTable
) -> None:
    tag = match["tag"]
    if match["current"]:
        repository.current[tag] = link.modified_at
        return
    digest = f"{match['algorithm']}:{match['hex']}"
    try:
        digests.parse(digest)
    except Malformed:
        repository.opaque.append(digest)
        return
    digest = known.shared(digest)
    if tag:
        repository.index.setdefault(tag, {})[digest] = link.modified_at
    else:
        repository.revisions[digest] = link.modified_at


class _Reader:
    def __init__(self, storage: Storage, scope: Scope, known: ManifestTable) -> None:
        self._storage = storage
        self._scope = scope
        self._known = known
        self.manifests = known.only(())
        """The manifests of this storage that have their data."""
        self._opaque: set[str] = set()
        self._data: dict[str, str] = {}
        """The digest of the data, if it differs from that of the manifest."""

    async def read_manifests(self, found: Iterable[_Found]) -> None:
        wanted: dict[str, str] = {}
        for one in found:
            wanted |= dict.fromkeys(one.revisions, one.name)
        aliases = {
            revision_link(name, digest): digest
            for digest, name in wanted.items()
            if not digest.startswith(STORED_AS)
        }

        async def follow(link: str) -> None:
            target = await self._link(link)
            if target:
                self._data[aliases[link]] = target

        await parallel.each(follow, aliases)
        self._scope.progress.begin("reading manifests", len(wanted))
        await parallel.each(self._read_manifest, wanted)

    async def repository(self, found: _Found) -> Repository:
        tags: dict[str, Tag] = {}

        async def read(name: str) -> None:
            tag = await self._tag(found, name)
            if tag is not None:
                tags[name] = tag

        await parallel.each(read, found.current)
        held = {one: time for one, time in found.revisions.items() if one in self.manifests}
        opaque = {*found.opaque, *(self._opaque & held.keys())}
        return Repository(
            name=found.name,
            tags=tuple(tags[name] for name in sorted(tags)),
            manifests=tuple(sorted(held)),
            manifest_times=held,
            opaque_digests=tuple(sorted(opaque)),
        )

    async def _tag(self, found: _Found, name: str) -> Tag | None:
        """A tag that disappeared since the list was read does not count."""
        try:
            link = await self._link(tag_link(found.name, name))
        except storages.NotFound:
            return None
        if not link:
            found.opaque.append(f"tag {name}")
            return None
        text = self._known.shared(link)
        times = found.index.get(name, {})
        newest = Revision(text, max(found.current[name], times.get(text, found.current[name])))
        before = [
            Revision(digest, time)
            for digest, time in times.items()
            if digest != text and digest in self.manifests and digest in found.revisions
        ]
        before.sort(key=lambda one: (one.pushed_at, one.digest), reverse=True)
        return Tag.of(name, [newest, *before])

    async def _link(self, path: str) -> str:
        """The digest in a link, "" if malformed."""
        try:
            content = await self._storage.read(path, bytes_max=LINK_BYTES_MAX)
            return str(digests.parse(content.decode("ascii", "replace").strip()))
        except (storages.TooLarge, Malformed):
            return ""

    async def _read_manifest(self, digest: str) -> None:
        self._scope.progress.advance()
        manifest = self._known.get(digest)
        if manifest is None or (self._scope.with_created and manifest.created_at is None):
            manifest = await self._manifest(digest)
        if manifest is None:
            return
        self.manifests.add(manifest)
        if manifest.is_opaque:
            self._opaque.add(digest)

    async def _manifest(self, digest: str) -> InventoryManifest | None:
        try:
            path = data_path(self._data.get(digest, digest))
            content = await self._storage.read(path, bytes_max=MANIFEST_BYTES_MAX)
        except storages.NotFound:
            return None
        except storages.TooLarge:
            return InventoryManifest(digest=digest, is_opaque=True)
        if not digests.parse(digest).matches(content):
            return InventoryManifest(digest=digest, is_opaque=True)
        manifest, sizes = documents.read(digest, content)
        if manifest.is_opaque:
            return manifest
        config = documents.config_of(content) if self._scope.with_created else ""
        if config:
            created = await self._created(config)
            manifest = replace(manifest, created_at=created)
        self._known.add(manifest)
        self._known.add_sizes(sizes)
        return manifest

    async def _created(self, config: str) -> datetime | None:
        try:
            content = await self._storage.read(data_path(config), bytes_max=CONFIG_BYTES_MAX)
        except (storages.NotFound, storages.TooLarge):
            return None
        return documents.created(content)
