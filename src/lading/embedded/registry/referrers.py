"""The manifests of a repository that name another manifest as their subject.

It reads the manifests of the repository, so it also works on data that another registry wrote.
Content by digest never changes, so each manifest is read once.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from lading.embedded.registry.manifests import Manifests
from lading.kernel import digests, manifests
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.manifests import ImageManifest

REMEMBERED_MAX = 100_000


class Referrer(msgspec.Struct, frozen=True, kw_only=True):
    subject: Digest
    artifact_type: str
    descriptor: dict[str, Any]


class Referrers(msgspec.Struct, frozen=True):
    manifests: Manifests
    _remembered: dict[Digest, Referrer | None] = {}

    def index(self, name: str, subject: Digest, *, artifact_type: str | None) -> dict[str, Any]:
        """An image index of the referrers, all of them or those of one artifact type."""
        found = [
            referrer.descriptor
            for referrer in self._all(name)
            if referrer.subject == subject and artifact_type in (None, referrer.artifact_type)
        ]
        return {"schemaVersion": 2, "mediaType": manifests.OCI_INDEX, "manifests": found}

    def _all(self, name: str) -> Iterator[Referrer]:
        for link in sorted(self.manifests.layout.revisions(name).glob("*/*/link")):
            digest = _digest_of(link.parts)
            referrer = None if digest is None else self._referrer(name, digest)
            if referrer is not None:
                yield referrer

    def _referrer(self, name: str, digest: Digest) -> Referrer | None:
        if digest not in self._remembered:
            if len(self._remembered) >= REMEMBERED_MAX:
                self._remembered.clear()
            content = self.manifests.content(name, digest)
            if content is None:
                return None
            self._remembered[digest] = _read(digest, content)
        return self._remembered[digest]


def _digest_of(parts: tuple[str, ...]) -> Digest | None:
    try:
        return digests.parse(f"{parts[-3]}:{parts[-2]}")
    except Malformed:
        return None


def _read(digest: Digest, content: bytes) -> Referrer | None:
    try:
        manifest = manifests.parse(content)
    except Malformed:
        return None
    if manifest.subject is None:
        return None
    artifact_type = manifest.artifact_type
    if isinstance(manifest, ImageManifest):
        artifact_type = artifact_type or manifest.config.media_type
    descriptor: dict[str, Any] = {
        "mediaType": manifest.media_type,
        "size": len(content),
        "digest": str(digest),
    }
    if artifact_type:
        descriptor["artifactType"] = artifact_type
    if manifest.annotations:
        descriptor["annotations"] = dict(manifest.annotations)
    return Referrer(
        subject=manifest.subject.digest, artifact_type=artifact_type, descriptor=descriptor
    )
