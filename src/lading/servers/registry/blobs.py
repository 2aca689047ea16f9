"""Blobs of a repository: content that is stored once and linked by each repository that has it."""

from pathlib import Path

import msgspec

from lading.kernel.digests import Digest
from lading.servers.registry import links
from lading.servers.registry.blob_store import BlobStore
from lading.servers.registry.faults import Code, Fault
from lading.servers.registry.layout import Layout
from lading.servers.registry.usage import FILE_BYTES_MIN, StoreUsage


class Blobs(msgspec.Struct, frozen=True):
    layout: Layout
    store: BlobStore
    usage: StoreUsage

    def path(self, name: str, digest: Digest) -> Path:
        """The file of a blob that the repository has."""
        target = links.read_link(self.layout.layer_link(name, digest))
        path = None if target is None else self.store.file(target)
        if path is not None:
            return path
        raise Fault(Code.BLOB_UNKNOWN, "blob unknown to the repository", detail=str(digest))

    def contains(self, name: str, digest: Digest) -> bool:
        try:
            self.path(name, digest)
        except Fault:
            return False
        return True

    def adopt(self, name: str, digest: Digest, file: Path) -> None:
        """Takes over a finished and verified file; a blob that exists already is kept."""
        self.store.adopt(digest, file)
        self._link(name, digest, digest)

    def mount(self, name: str, digest: Digest, *, source: str) -> bool:
        target = links.read_link(self.layout.layer_link(source, digest))
        if target is None or self.store.file(target) is None:
            return False
        self._link(name, digest, target)
        return True

    def _link(self, name: str, digest: Digest, target: Digest) -> None:
        """A link counts as well: a client may mount one blob into any number of repositories."""
        link = self.layout.layer_link(name, digest)
        if not link.is_file():
            self.usage.take(FILE_BYTES_MIN)
        links.write_link(link, target)

    def unlink(self, name: str, digest: Digest) -> None:
        self.path(name, digest)
        self.layout.layer_link(name, digest).unlink(missing_ok=True)
