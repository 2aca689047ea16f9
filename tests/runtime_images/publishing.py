"""Puts small images of several platforms into a registry, over the port that clients use."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from lading.kernel import manifests, platforms, references
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.platforms import Platform
from lading.ports.registry import Manifest, Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    registry: Registry
    host: str

    async def index(self, name: str, layers: Mapping[str, bytes | tuple[bytes, ...]]) -> str:
        """An index with one image for each platform; returns its reference by tag."""
        entries = [
            {**await self._image(name, platform, content), "platform": _platform(platform)}
            for platform, content in layers.items()
        ]
        reference = f"{self.host}/{name}"
        await self._push(reference, {"manifests": entries}, manifests.OCI_INDEX)
        return reference

    async def _image(
        self, name: str, platform: str, content: bytes | tuple[bytes, ...]
    ) -> dict[str, object]:
        layers = content if isinstance(content, tuple) else (content,)
        contents = [str(Digest.of(layer)) for layer in layers]
        config = {**_platform(platform), "rootfs": {"type": "layers", "diff_ids": contents}}
        document = {
            "config": await self._blob(name, json.dumps(config).encode(), manifests.OCI_CONFIG),
            "layers": [await self._blob(name, layer, manifests.OCI_LAYER_GZIP) for layer in layers],
        }
        return await self._push(f"{self.host}/{name}", document, manifests.OCI_MANIFEST)

    async def _blob(self, name: str, content: bytes, media_type: str) -> dict[str, object]:
        digest = Digest.of(content)
        descriptor = Descriptor(media_type=media_type, digest=digest, size_bytes=len(content))
        reference = references.parse(f"{self.host}/{name}")
        await self.registry.push_blob(reference, descriptor, _pieces(content))
        return {"mediaType": media_type, "digest": str(digest), "size": len(content)}

    async def _push(
        self, reference: str, document: Mapping[str, object], media_type: str
    ) -> dict[str, object]:
        content = json.dumps({"schemaVersion": 2, "mediaType": media_type, **document}).encode()
        digest = Digest.of(content)
        target = references.parse(reference)
        if media_type == manifests.OCI_MANIFEST:
            target = target.at(digest)
        manifest = Manifest(media_type=media_type, digest=digest, content=content)
        await self.registry.push_manifest(target, manifest)
        return {"mediaType": media_type, "digest": str(digest), "size": len(content)}


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _platform(text: str) -> dict[str, str]:
    platform: Platform = platforms.parse(text)
    named = {"os": platform.os, "architecture": platform.architecture}
    return {**named, "os.version": platform.os_version} if platform.os_version else named
