"""Where the content of a registry is, by digest; repositories own it through links, not here."""

from pathlib import Path
from typing import Protocol

import msgspec

from lading import files
from lading.kernel.digests import Digest
from lading.servers.registry.layout import Layout


class BlobStore(Protocol):
    """Content is written once and never changes; every method may block."""

    def file(self, digest: Digest) -> Path | None:
        """The content as a file to send; None when it is not there."""

    def read(self, digest: Digest) -> bytes | None: ...

    def write(self, digest: Digest, content: bytes) -> None:
        """What is there already is kept."""

    def adopt(self, digest: Digest, file: Path) -> None:
        """Takes over a finished and verified file; what is there already is kept."""


class FileBlobStore(msgspec.Struct, frozen=True):
    """The files of the distribution project's layout."""

    layout: Layout

    def file(self, digest: Digest) -> Path | None:
        path = self.layout.blob(digest)
        return path if path.is_file() else None

    def read(self, digest: Digest) -> bytes | None:
        try:
            return self.layout.blob(digest).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, digest: Digest, content: bytes) -> None:
        if self.file(digest) is None:
            files.write_atomically(self.layout.blob(digest), content)

    def adopt(self, digest: Digest, file: Path) -> None:
        if self.file(digest) is None:
            files.move_into_place(file, self.layout.blob(digest))
