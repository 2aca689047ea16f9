"""Lists the storage of a registry. Only reads.

The paths have nearly all facts. It also reads links that are not sha256, and tags if they decide.
An incomplete listing is an error.
"""

import re
from array import array
from collections.abc import AsyncIterator, Iterable

import msgspec
import numpy as np

from lading.kernel import digests, references
from lading.kernel.errors import Malformed
from lading.ports import storage as storages
from lading.ports.storage import Storage, StoredObject
from lading.pruning.engine.inventory import graph, parallel
from lading.pruning.engine.inventory.observe_storage import (
    DATABASE_IN_USE,
    LINK_BYTES_MAX,
    NoRegistry,
    is_of_upload,
    refuse_special,
    tag_link,
)
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.sweep import layout
from lading.pruning.sweep.types import (
    Alias,
    Link,
    LinkKind,
    Links,
    Listing,
    StoredBlobs,
    seconds,
)

_HEX = re.compile(r"[0-9a-f]{64}")
_SHA256 = "sha256"
_BLOBS, _REPOSITORIES = f"{layout.BLOBS}/", f"{layout.REPOSITORIES}/"
_NOTHING = (
    f"the storage has nothing in {layout.REPOSITORIES}; give the folder or prefix that the registry"
    " has as its root directory"
)


async def check(storage: Storage) -> None:
    """Refuses a storage that is not, or not completely, that of a registry."""
    if await storage.head(DATABASE_IN_USE) is not None:
        raise NoRegistry(
            "the registry keeps its tags in a database (database-in-use), not in this storage;"
            " use GitLab's own garbage collection"
        )
    async for page in storage.pages(layout.REPOSITORIES):
        if page:
            return
    raise NoRegistry(_NOTHING)


async def listing(
    storage: Storage,
    progress: PruneProgress,
    *,
    with_blobs: bool = True,
    with_tags: bool = False,
) -> Listing:
    """Without blobs it lists only the repositories, which is enough for the second look."""
    progress.begin("listing the storage")
    found = _Found(with_tags=with_tags)
    prefix = layout.ROOT if with_blobs else layout.REPOSITORIES
    async for page in storage.pages(prefix):
        for one in page:
            found.add(one)
        progress.advance(len(page))
    refuse_special(found.special)
    if not found.repositories:
        raise NoRegistry(_NOTHING)
    aliases = [one async for one in _followed(storage, found)]
    return found.listing(aliases)


class _LinkColumns(msgspec.Struct):
    repositories: "array[int]" = msgspec.field(default_factory=lambda: array("i"))
    keys: "array[int]" = msgspec.field(default_factory=lambda: array("Q"))
    times: "array[int]" = msgspec.field(default_factory=lambda: array("I"))
    raw: bytearray = bytearray()

    def add(self, repository: int, encoded: str, time: int, *, with_raw: bool) -> None:
        raw = bytes.fromhex(encoded)
        self.repositories.append(repository)
        self.keys.append(int.from_bytes(raw[:8], "little"))
        self.times.append(time)
        if with_raw:
            self.raw += raw

    def links(self) -> Links:
        return Links(
            repositories=np.frombuffer(self.repositories, dtype=np.int32),
            keys=np.frombuffer(self.keys, dtype=np.uint64),
            times=np.frombuffer(self.times, dtype=np.uint32),
            raw=np.frombuffer(self.raw, dtype=np.uint8).reshape(-1, graph.RAW_BYTES),
        )


class _Found:
    """The columns of a listing while they grow."""

    def __init__(self, *, with_tags: bool) -> None:
        self.repositories: dict[str, int] = {}
        self.opaque: set[int] = set()
        self.aliases: list[Alias] = []
        self._with_tags = with_tags
        self._raw = bytearray()
        self._sizes = array("q")
        self._times = array("I")
        self._others: dict[int, str] = {}
        self._layers = _LinkColumns()
        self._revisions = _LinkColumns()
        self._tags: list[tuple[int, str]] = []
        self._uploads: dict[str, int] = {}
        self._special_uploads: list[StoredObject] = []
        self.special: list[StoredObject] = []
        """Symbolic links and other special files, where a registry has folders and files."""
        self._objects = 0

    def add(self, one: StoredObject) -> None:
        self._objects += 1
        path = one.path
        if one.special:
            (self._special_uploads if is_of_upload(path) else self.special).append(one)
        elif path.startswith(_BLOBS):
            self._add_blob(path[len(_BLOBS) :], one)
        elif path.startswith(_REPOSITORIES):
            name, mark, own = path[len(_REPOSITORIES) :].partition("/_")
            if mark:
                number = self.repositories.get(name)
                if number is None:
                    number = self._add_repository(name)
                self._add_own(number, name, own.split("/"), one)

    def _add_repository(self, name: str) -> int:
        """No registry creates an invalid name, so all that such a repository links is kept."""
        number = self.repositories[name] = len(self.repositories)
        if not references.is_repository(name):
            self.opaque.add(number)
        return number

    def _add_blob(self, path: str, one: StoredObject) -> None:
        parts = path.split("/")
        if len(parts) != 4 or parts[3] != "data" or parts[1] != parts[2][:2]:
            return
        if parts[0] == _SHA256 and _HEX.fullmatch(parts[2]):
            self._raw += bytes.fromhex(parts[2])
        else:
            digest = layout.digest_of(parts[0], parts[2])
            if not digest:
                return  # not of a registry that we know; it stays
            self._raw += graph.raw(digest)
            self._others[graph.key_of(digest)] = digest
        self._sizes.append(one.size_bytes)
        self._times.append(seconds(one.modified_at))

    def _add_own(self, number: int, name: str, parts: list[str], one: StoredObject) -> None:
        match parts:
            case ["layers", algorithm, encoded, "link"]:
                link = Link(name, LinkKind.LAYER, f"{algorithm}:{encoded}")
                self._add_link(self._layers, number, link, one)
            case ["manifests", "revisions", algorithm, encoded, "link"]:
                link = Link(name, LinkKind.MANIFEST, f"{algorithm}:{encoded}")
                self._add_link(self._revisions, number, link, one)
            case ["manifests", "tags", tag, "current", "link"] if self._with_tags:
                self._tags.append((number, tag))
            case ["uploads", session, _, *_] if session.isascii() and number not in self.opaque:
                folder = f"{layout.REPOSITORIES}/{name}/_uploads/{session}"
                time = seconds(one.modified_at)
                self._uploads[folder] = max(time, self._uploads.get(folder, 0))

    def _add_link(self, column: _LinkColumns, number: int, link: Link, one: StoredObject) -> None:
        encoded = link.digest[len(_SHA256) + 1 :]
        time = seconds(one.modified_at)
        if link.digest.startswith(_SHA256) and _HEX.fullmatch(encoded):
            column.add(number, encoded, time, with_raw=link.kind is LinkKind.MANIFEST)
        else:
            self.aliases.append(Alias(link=link, time=time))
            if not layout.digest_of(*link.digest.split(":", 1)):
                self.opaque.add(number)

    def listing(self, aliases: Iterable[Alias]) -> Listing:
        return Listing(
            repositories=tuple(self.repositories),
            blobs=self._blobs(),
            layers=self._layers.links(),
            revisions=self._revisions.links(),
            aliases=tuple(aliases),
            opaque=frozenset(self.opaque),
            tags=tuple(self._tags),
            uploads=self._whole_uploads(),
            special_uploads=tuple(self._special_uploads),
            objects=self._objects,
        )

    def _whole_uploads(self) -> dict[str, int]:
        """An upload with a special file stays, because the file may lead anywhere."""
        left = {layout.upload_folder(one.path) for one in self._special_uploads}
        return {folder: time for folder, time in self._uploads.items() if folder not in left}

    def _blobs(self) -> StoredBlobs:
        raw = np.frombuffer(self._raw, dtype=np.uint8).reshape(-1, graph.RAW_BYTES)
        keys = np.ascontiguousarray(raw[:, :8]).view("<u8").reshape(-1)
        order = np.argsort(keys)
        keys = keys[order]
        if len(keys) > 1 and (same := keys[1:] == keys[:-1]).any():
            graph.stop_at(int(keys[int(np.argmax(same))]))
        return StoredBlobs(
            keys=keys,
            raw=raw[order],
            sizes=np.frombuffer(self._sizes, dtype=np.int64)[order],
            times=np.frombuffer(self._times, dtype=np.uint32)[order],
            others=self._others,
        )


async def _followed(storage: Storage, found: _Found) -> AsyncIterator[Alias]:
    """The links that are not sha256, each with the digest in it."""
    targets: dict[str, str | None] = {}

    async def follow(path: str) -> None:
        targets[path] = await read_link(storage, path)

    await parallel.each(follow, [layout.link_path(one.link) for one in found.aliases])
    for alias in found.aliases:
        target = targets[layout.link_path(alias.link)]
        link = alias.link
        if not target:  # also where it is gone since the list was read, or seems to be
            found.opaque.add(found.repositories[link.repository])
            continue
        own = "" if target == link.digest else target
        yield Alias(link=Link(link.repository, link.kind, link.digest, own), time=alias.time)


async def aside(storage: Storage) -> dict[str, StoredObject]:
    """The data that sweeps moved aside, by digest."""
    found = [one async for page in storage.pages(layout.ASIDE) for one in page]
    refuse_special([one for one in found if one.special])
    return {digest: one for one in found if (digest := layout.digest_aside(one.path))}


async def read_link(storage: Storage, path: str) -> str | None:
    """The digest in a link, "" if malformed, None if absent."""
    try:
        content = await storage.read(path, bytes_max=LINK_BYTES_MAX)
        return str(digests.parse(content.decode("ascii", "replace").strip()))
    except storages.NotFound:
        return None
    except (storages.TooLarge, Malformed):
        return ""


async def tag_digests(storage: Storage, found: Listing) -> tuple[frozenset[str], frozenset[str]]:
    """The digests that the tags name, and the repositories with an unreadable tag.

    A tag that disappeared since the listing counts as unreadable: a failing server may answer 404
    for all tags.
    """
    named: set[str] = set()
    unreadable: set[str] = set()
    places = {tag_link(found.repositories[one], tag): one for one, tag in found.tags}

    async def read(path: str) -> None:
        digest = await read_link(storage, path)
        if digest:
            named.add(digest)
        else:
            unreadable.add(found.repositories[places[path]])

    await parallel.each(read, places)
    return frozenset(named), frozenset(unreadable)
