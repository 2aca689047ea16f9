"""Where a registry keeps its content: the filesystem layout of the distribution project.

Content is stored once under `blobs`; a repository owns it through small link files that hold a
digest. Because a link may name another digest than its own path (an alias by another algorithm),
readers follow what the link says.
"""

from pathlib import Path

import msgspec

from lading.kernel.digests import Digest


class Layout(msgspec.Struct, frozen=True):
    """Paths under `<root>/docker/registry/v2`; nothing here touches the disk."""

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
