"""OCI images of one layer, made in memory, and the archive of a layout that holds one."""

import gzip
import hashlib
import io
import json
import pathlib
import platform
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass

LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    blobs: tuple[bytes, ...]
    """The configuration and the layers."""
    manifest: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def architecture() -> str:
    """Of this machine, as images name it."""
    return ARCHITECTURES[platform.machine()]


def of_archive(archive: bytes, *, settings: Mapping[str, object], compress_level: int = 9) -> Image:
    """An image of one layer; the settings are those of a container, such as Cmd and Env.

    It is compressed: tools that copy images compress what is not, and change its digest so.
    """
    layer = gzip.compress(archive, compress_level, mtime=0)
    config = _json(
        {
            "architecture": architecture(),
            "os": "linux",
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [digest_of(archive)]},
            # Optional, but engines that build on this image count its layers here.
            "history": [{"created_by": "release.oci"}],
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _descriptor(CONFIG_TYPE, config),
            "layers": [_descriptor(LAYER_TYPE, layer)],
        }
    )
    return Image(blobs=(config, layer), manifest=manifest)


def write_layout(image: Image, target: pathlib.Path, *, tag: str) -> None:
    """As one file, which `skopeo copy oci-archive:`, `podman load` and `ctr images import` read."""
    platform_of_image = {"architecture": architecture(), "os": "linux"}
    entry = {
        **_descriptor(MANIFEST_TYPE, image.manifest),
        "platform": platform_of_image,
        "annotations": {"org.opencontainers.image.ref.name": tag},
    }
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]}),
        **{
            f"blobs/{digest_of(one).replace(':', '/')}": one
            for one in (image.manifest, *image.blobs)
        },
    }
    with tarfile.open(target, mode="w") as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _descriptor(media_type: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
