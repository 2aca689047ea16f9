"""Blobs: content that is stored once, and linked by each repository that has it.

Content never changes after it is written. Every method may block.
"""

from pathlib import Path

import msgspec

from lading import files
from lading.embedded.registry import layout as layouts
from lading.embedded.registry.faults import Code, Fault
from lading.embedded.registry.layout import Layout
from lading.embedded.registry.usage import FILE_BYTES_MIN, StoreUsage
from lading.kernel.digests import Digest


class Blobs(msgspec.Struct, frozen=True):
    layout: Layout
    usage: StoreUsage

    def path(self, name: str, digest: Digest) -> Path:
        """The file of a blob that the repository has."""
        found = self._linked(name, digest)
        if found is None:
            raise Fault(Code.BLOB_UNKNOWN, "blob unknown to the repository", detail=str(digest))
        return self.layout.blob(found)

    def contains(self, name: str, digest: Digest) -> bool:
        return self._linked(name, digest) is not None

    def read(self, digest: Digest) -> bytes | None:
        """Content of any repository."""
        try:
            return self.layout.blob(digest).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, digest: Digest, content: bytes) -> None:
        """Does nothing if the content exists."""
        path = self.layout.blob(digest)
        if not path.is_file():
            files.write_atomically(path, content)

    def adopt(self, name: str, digest: Digest, file: Path) -> None:
        """Moves a verified file into place; leaves it there if the content exists."""
        path = self.layout.blob(digest)
        if not path.is_file():
            files.move_into_place(file, path)
        self._link(name, digest, digest)

    def mount(self, name: str, digest: Digest, *, source: str) -> bool:
        target = self._linked(source, digest)
        if target is None:
            return False
        self._link(name, digest, target)
        return True

    def unlink(self, name: str, digest: Digest) -> None:
        self.path(name, digest)
        self.layout.layer_link(name, digest).unlink(missing_ok=True)

    def _linked(self, name: str, digest: Digest) -> Digest | None:
        """The content that the repository links by this digest, if it exists."""
        target = layouts.read_link(self.layout.layer_link(name, digest))
        return target if target is not None and self.layout.blob(target).is_file() else None

    def _link(self, name: str, digest: Digest, target: Digest) -> None:
        """Counts the link: a client may mount one blob into any number of repositories."""
        link = self.layout.layer_link(name, digest)
        if not link.is_file():
            self.usage.take(FILE_BYTES_MIN)
        layouts.write_link(link, target)
