"""Reads each manifest of a storage once, and keeps what it needs as numbers. Only reads."""

import contextlib
import hashlib
from array import array
from collections.abc import Iterable

import msgspec
import numpy as np

from lading.kernel import digests
from lading.kernel.errors import UNREADABLE
from lading.ports import storage as storages
from lading.ports.storage import Storage
from lading.pruning.engine.inventory import documents as manifest_documents
from lading.pruning.engine.inventory import graph, parallel
from lading.pruning.engine.inventory.graph import Keys
from lading.pruning.engine.inventory.observe_storage import MANIFEST_BYTES_MAX
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.sweep import layout
from lading.pruning.sweep.types import Documents, LinkKind, Listing

_SHA256 = "sha256"


class _Known(msgspec.Struct):
    keys: bytes
    counts: bytes
    targets: bytes
    subjects: bytes


class ManifestReader:
    def __init__(self, storage: Storage, progress: PruneProgress) -> None:
        self._storage = storage
        self._progress = progress
        self._keys = array("Q")
        self._counts = array("q")
        self._targets = array("Q")
        self._subjects = array("Q")
        self._opaque: set[int] = set()
        self._known: Keys = np.zeros(0, dtype=np.uint64)

    def know(self, content: bytes | None) -> None:
        """Loads the manifests that an earlier run read. A damaged file is read again."""
        if content is None or self._keys:
            return
        checksum, body = (
            content[: hashlib.sha256().digest_size],
            content[hashlib.sha256().digest_size :],
        )
        if hashlib.sha256(body).digest() != checksum:
            return
        try:
            found = msgspec.msgpack.decode(body, type=_Known)
            keys, targets, subjects = (
                array("Q", one) for one in (found.keys, found.targets, found.subjects)
            )
            counts = array("q", found.counts)
        except UNREADABLE:
            return  # of another release
        is_whole = len(keys) == len(counts) == len(subjects) and sum(counts) == len(targets)
        if is_whole and min(counts, default=0) >= 0:
            self._keys, self._counts = keys, counts
            self._targets, self._subjects = targets, subjects
            self._sort()

    def known(self, found: Listing) -> bytes:
        """The readable manifests that still exist, for the next run."""
        documents = self.documents()
        unreadable = np.array(sorted(self._opaque), dtype=np.uint64)
        stays = np.isin(documents.keys, found.revisions.keys)
        stays &= ~np.isin(documents.keys, unreadable)
        counts = np.diff(documents.starts)
        body = msgspec.msgpack.encode(
            _Known(
                keys=documents.keys[stays].tobytes(),
                counts=counts[stays].tobytes(),
                targets=documents.targets[np.repeat(stays, counts)].tobytes(),
                subjects=documents.subjects[stays].tobytes(),
            )
        )
        return hashlib.sha256(body).digest() + body

    def _sort(self) -> None:
        self._known = np.sort(np.array(self._keys, dtype=np.uint64))

    async def read(self, digests_: Iterable[str], *, count: int = 0) -> None:
        self._progress.begin("reading manifests", count)
        await parallel.each(self._read, digests_)
        self._sort()

    def unknown(self, keys: Keys) -> Keys:
        """The numbers that were not read yet, without repeats."""
        return np.setdiff1d(keys, self._known)

    def has_unreadable(self, keys: set[int]) -> bool:
        return not self._opaque.isdisjoint(keys)

    def targets_of(self, keys: set[int]) -> set[int]:
        """The digests that these manifests need."""
        found: set[int] = set()
        begin = 0
        for key, count in zip(self._keys, self._counts, strict=True) if keys else ():
            if key in keys:
                found.update(self._targets[begin : begin + count])
            begin += count
        return found

    def with_all_they_need(self, keys: set[int]) -> set[int]:
        found: set[int] = set()
        new = keys
        while new:
            found |= new
            new = self.targets_of(new) - found
        return found

    def documents(self) -> Documents:
        starts = np.zeros(len(self._counts) + 1, dtype=np.int64)
        np.cumsum(np.frombuffer(self._counts, dtype=np.int64), out=starts[1:])
        # Copies: an array that is looked at cannot grow.
        return Documents(
            keys=np.array(self._keys, dtype=np.uint64),
            starts=starts,
            targets=np.array(self._targets, dtype=np.uint64),
            subjects=np.array(self._subjects, dtype=np.uint64),
            opaque=frozenset(self._opaque),
        )

    async def _content(self, digest: str) -> bytes:
        """Also reads data that is aside, because it may be linked again. Empty if unreadable.

        A registry deletes no data: a link without data is damaged, or not restored yet.
        """
        for path in (layout.data_path(digest), layout.aside_path(digest)):
            with contextlib.suppress(storages.NotFound, storages.TooLarge):
                return await self._storage.read(path, bytes_max=MANIFEST_BYTES_MAX)
        return b""

    async def _read(self, digest: str) -> None:
        self._progress.advance()
        content = await self._content(digest)
        key = graph.key_of(digest)
        manifest, _ = manifest_documents.read(digest, content)
        if manifest.is_opaque or manifest.is_unknown or not digests.parse(digest).matches(content):
            self._opaque.add(key)
        named = (*manifest.children, *manifest.blobs)
        self._keys.append(key)
        self._counts.append(len(named))
        self._targets.extend(map(graph.key_of, named))
        self._subjects.append(graph.key_of(manifest.subject) if manifest.subject else 0)


def unread_manifests(found: Listing, reader: ManifestReader) -> list[str]:
    """The manifests of all repositories that were not read yet, without repeats."""
    keys, first = np.unique(found.revisions.keys, return_index=True)
    wanted = first[np.isin(keys, reader.unknown(keys), assume_unique=True)]
    texts = [f"{_SHA256}:{found.revisions.raw[one].tobytes().hex()}" for one in wanted]
    others = {one.link.data for one in found.aliases if one.link.kind is LinkKind.MANIFEST}
    unknown = set(
        reader.unknown(np.array([graph.key_of(one) for one in others], np.uint64)).tolist()
    )
    known = {graph.key_of(text) for text in texts}
    return texts + [one for one in sorted(others) if graph.key_of(one) in unknown - known]
