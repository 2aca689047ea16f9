"""Builds small OCI images in memory, for the demo and for tests: same input, same digests.

An image has one layer for each set of files; several images make an index. No image can run.
"""

import gzip
import hashlib
import io
import tarfile
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.platforms.types import Platform
from lading.kernel.references import Reference
from lading.ports.registry import Manifest, Registry

LINUX_AMD64 = Platform(os="linux", architecture="amd64")
PUSH_PIECE_BYTES = 256 * 1024


class SampleImage(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest or an index, with its child manifests and all their blobs."""

    manifest: Manifest
    children: tuple["SampleImage", ...] = ()
    blobs: tuple[tuple[Descriptor, bytes], ...] = ()
    platform: Platform | None = None

    @property
    def digest(self) -> Digest:
        return self.manifest.digest

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor(
            media_type=self.manifest.media_type,
            digest=self.manifest.digest,
            size_bytes=len(self.manifest.content),
            platform=self.platform,
        )


def image(
    layers: Sequence[Mapping[str, bytes]],
    *,
    platform: Platform = LINUX_AMD64,
    user: str = "",
    labels: Mapping[str, str] | None = None,
) -> SampleImage:
    """`layers` are the files of each layer, by path."""
    archives = [_archive(files) for files in layers]
    layer_blobs = [_blob(manifests.OCI_LAYER_GZIP, _compressed(archive)) for archive in archives]
    config = _blob(manifests.OCI_CONFIG, _config(archives, platform, user, labels or {}))
    document = {
        "schemaVersion": 2,
        "mediaType": manifests.OCI_MANIFEST,
        "config": _descriptor_document(config[0]),
        "layers": [_descriptor_document(descriptor) for descriptor, _ in layer_blobs],
    }
    return SampleImage(
        manifest=_manifest(document), blobs=(config, *layer_blobs), platform=platform
    )


def index(images: Sequence[SampleImage]) -> SampleImage:
    """A multi-platform image."""
    document = {
        "schemaVersion": 2,
        "mediaType": manifests.OCI_INDEX,
        "manifests": [_descriptor_document(each.descriptor) for each in images],
    }
    return SampleImage(manifest=_manifest(document), children=tuple(images))


def noise(seed: str, size_bytes: int) -> bytes:
    """Content that does not compress; the same for the same seed."""
    return hashlib.shake_256(seed.encode()).digest(size_bytes)


async def push(registry: Registry, reference: Reference, sample: SampleImage) -> Reference:
    """Pushes blobs, children and the image; returns the reference by digest."""
    for descriptor, content in sample.blobs:
        await registry.push_blob(reference, descriptor, _pieces(content))
    for child in sample.children:
        await push(registry, reference.at(child.digest), child)
    await registry.push_manifest(reference, sample.manifest)
    return reference.at(sample.digest)


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), PUSH_PIECE_BYTES):
        yield content[begin : begin + PUSH_PIECE_BYTES]


def _archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _compressed(archive: bytes) -> bytes:
    return gzip.compress(archive, compresslevel=6, mtime=0)


def _config(
    archives: Sequence[bytes], platform: Platform, user: str, labels: Mapping[str, str]
) -> bytes:
    document = {
        **_platform_document(platform),
        "config": {"User": user, "Labels": dict(labels), "Cmd": ["/entry"]},
        "rootfs": {"type": "layers", "diff_ids": [str(Digest.of(each)) for each in archives]},
    }
    return msgspec.json.encode(document)


def _blob(media_type: str, content: bytes) -> tuple[Descriptor, bytes]:
    digest = Digest.of(content)
    return Descriptor(media_type=media_type, digest=digest, size_bytes=len(content)), content


def _manifest(document: Mapping[str, Any]) -> Manifest:
    content = msgspec.json.encode(document)
    return Manifest(media_type=document["mediaType"], digest=Digest.of(content), content=content)


def _descriptor_document(descriptor: Descriptor) -> dict[str, Any]:
    document: dict[str, Any] = {
        "mediaType": descriptor.media_type,
        "digest": str(descriptor.digest),
        "size": descriptor.size_bytes,
    }
    if descriptor.platform is not None:
        document["platform"] = _platform_document(descriptor.platform)
    return document


def _platform_document(platform: Platform) -> dict[str, Any]:
    named: dict[str, Any] = {
        "os": platform.os,
        "architecture": platform.architecture,
        "variant": platform.variant,
        "os.version": platform.os_version,
        "os.features": list(platform.os_features),
    }
    return {key: value for key, value in named.items() if value}
