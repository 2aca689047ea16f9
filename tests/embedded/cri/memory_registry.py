"""A registry in memory that honours the port, and can be made to fail where a real one would."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass, field

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry
from lading.ports.registry import Credential, Manifest

PIECE_BYTES = 16 * 1024


@dataclass
class MemoryRegistry:
    """Blobs are one pool; manifests are found by `registry/repository:tag` and by digest."""

    blobs: dict[Digest, bytes] = field(default_factory=dict)
    digest_by_name: dict[str, Digest] = field(default_factory=dict)
    manifests: dict[Digest, Manifest] = field(default_factory=dict)
    fail_blobs_after_bytes: int | None = None
    offsets: list[int] = field(default_factory=list)
    """From where blobs were asked for, in order."""
    credentials: list[Credential] = field(default_factory=list)
    bytes_served: int = 0
    algorithm: str = "sha256"
    """Of the digests of blobs that are added."""
    stalls: bool = False
    """Blobs stop after their first piece and never go on."""
    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    abandoned: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the reader of a stalled blob has stopped reading."""

    async def manifest(self, reference: Reference) -> Manifest:
        digest = reference.digest or self.digest_by_name.get(str(reference))
        if digest is None or digest not in self.manifests:
            raise registry.NotFound(f"{reference}: manifest unknown", status=404)
        return self.manifests[digest]

    async def head(self, reference: Reference) -> Descriptor | None:
        raise NotImplementedError

    async def blob(
        self, repository: Reference, descriptor: Descriptor, *, offset: int = 0
    ) -> AsyncGenerator[bytes, None]:
        self.offsets.append(offset)
        content = self.blobs[descriptor.digest]
        for start in range(offset, len(content), PIECE_BYTES):
            limit = self.fail_blobs_after_bytes
            if limit is not None and start >= limit:
                raise registry.Unavailable("the connection was lost")
            self.bytes_served += len(content[start : start + PIECE_BYTES])
            yield content[start : start + PIECE_BYTES]
            if self.stalls:
                await self._stall()

    async def _stall(self) -> None:
        self.stalled.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.abandoned.set()

    async def tags(self, repository: Reference) -> tuple[str, ...]:
        raise NotImplementedError

    async def push_blob(
        self, repository: Reference, descriptor: Descriptor, content: AsyncIterable[bytes]
    ) -> None:
        raise NotImplementedError

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> Descriptor:
        raise NotImplementedError

    def with_credential(self, credential: Credential) -> "MemoryRegistry":
        self.credentials.append(credential)
        return self

    def add_image(
        self,
        name: str = "",
        *,
        layers: tuple[bytes, ...] = (b"layer",),
        platform: str = "linux/amd64",
        user: str = "",
        os_version: str = "",
    ) -> Manifest:
        os, architecture, *variant = platform.split("/")
        config = {
            "os": os,
            "architecture": architecture,
            "variant": "".join(variant),
            "os.version": os_version,
            "config": {"User": user},
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers],
            },
        }
        document = {
            "schemaVersion": 2,
            "mediaType": manifests.OCI_MANIFEST,
            "config": self._blob(json.dumps(config).encode(), manifests.OCI_CONFIG),
            "layers": [self._blob(layer, manifests.OCI_LAYER_GZIP) for layer in layers],
        }
        return self._add_manifest(name, document, manifests.OCI_MANIFEST)

    def add_index(self, name: str, *images: tuple[Manifest, dict[str, str] | None]) -> Manifest:
        entries = [
            {
                "mediaType": image.media_type,
                "digest": str(image.digest),
                "size": len(image.content),
                **({} if platform is None else {"platform": platform}),
            }
            for image, platform in images
        ]
        document = {"schemaVersion": 2, "mediaType": manifests.OCI_INDEX, "manifests": entries}
        return self._add_manifest(name, document, manifests.OCI_INDEX)

    def tag(self, name: str, manifest: Manifest) -> None:
        self.digest_by_name[name] = manifest.digest

    def _blob(self, content: bytes, media_type: str) -> dict[str, object]:
        digest = Digest.of(content, self.algorithm)
        self.blobs[digest] = content
        return {"mediaType": media_type, "digest": str(digest), "size": len(content)}

    def _add_manifest(self, name: str, document: object, media_type: str) -> Manifest:
        content = json.dumps(document).encode()
        manifest = Manifest(media_type=media_type, digest=Digest.of(content), content=content)
        self.manifests[manifest.digest] = manifest
        if name:
            self.tag(name, manifest)
        return manifest
