"""The paths and link files of a registry: the filesystem layout of the distribution project.

Content is stored once under `blobs`; a repository owns it through small link files that hold a
digest. A link may hold another digest than its own path (an alias of another algorithm), so
readers follow the link.
"""

from pathlib import Path

import msgspec

from lading import files
from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed

LINK_BYTES_MAX = 256  # the longest digest has 135 characters


class Layout(msgspec.Struct, frozen=True):
    """Paths under `<root>/docker/registry/v2`."""

    root: Path

    @property
    def base(self) -> Path:
        return self.root / "docker" / "registry" / "v2"

    @property
    def repositories(self) -> Path:
        return self.base / "repositories"

    def blob(self, digest: Digest) -> Path:
        shard = digest.encoded[:2]
        return self.base / "blobs" / digest.algorithm / shard / digest.encoded / "data"

    def repository(self, name: str) -> Path:
        return self.repositories / name

    def layer_link(self, name: str, digest: Digest) -> Path:
        return _link(self.repository(name) / "_layers", digest)

    def manifests(self, name: str) -> Path:
        return self.repository(name) / "_manifests"

    def revisions(self, name: str) -> Path:
        return self.manifests(name) / "revisions"

    def revision_link(self, name: str, digest: Digest) -> Path:
        return _link(self.revisions(name), digest)

    def tags(self, name: str) -> Path:
        return self.manifests(name) / "tags"

    def tag_link(self, name: str, tag: str) -> Path:
        return self.tags(name) / tag / "current" / "link"

    def tag_index_link(self, name: str, tag: str, digest: Digest) -> Path:
        return _link(self.tags(name) / tag / "index", digest)

    def upload(self, name: str, session: str) -> Path:
        return self.repository(name) / "_uploads" / session


def _link(folder: Path, digest: Digest) -> Path:
    return folder / digest.algorithm / digest.encoded / "link"


def read_link(path: Path) -> Digest | None:
    """The digest in a link; None if the link is absent or malformed."""
    try:
        with path.open("rb") as file:
            content = file.read(LINK_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return digests.parse(content.decode("ascii", "replace").strip())
    except Malformed:
        return None


def write_link(path: Path, digest: Digest) -> None:
    """Replaces a link that exists: its time says when the content was last pushed."""
    files.write_atomically(path, str(digest).encode())
