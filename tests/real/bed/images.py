"""Small OCI images made in memory, and pushed to a registry over plain HTTP.

Enough to run containers and to differ by digest; not an image builder.
"""

import gzip
import hashlib
import http.client
import io
import json
import pathlib
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.real.setup import binaries

LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
"""Of this machine, as images name it."""
BUSYBOX_NAMES = ("sh", "sleep", "true", "cat", "ls", "echo")
PUSH_SECONDS_MAX = 30


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


def of_blobs(config: bytes, config_type: str, layers: Mapping[str, bytes], **more: str) -> Image:
    """The layers by their media type."""
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        **more,
        "config": _descriptor(config_type, config),
        "layers": [_descriptor(media_type, one) for media_type, one in layers.items()],
    }
    return Image(blobs=(config, *layers.values()), manifest=json.dumps(manifest).encode())


def _descriptor(media_type: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


def read_archive(file: pathlib.Path) -> Image:
    """The one image of an OCI layout in a tar file."""
    with tarfile.open(file) as archive:
        files = {one.name: archive.extractfile(one) for one in archive if one.isfile()}
        read = {name: one.read() for name, one in files.items() if one}

    def blob(described: Mapping[str, str]) -> bytes:
        return read[f"blobs/{described['digest'].replace(':', '/')}"]

    (entry,) = json.loads(read["index.json"])["manifests"]
    manifest = json.loads(blob(entry))
    blobs = (blob(one) for one in (manifest["config"], *manifest["layers"]))
    return Image(blobs=tuple(blobs), manifest=blob(entry))


def busybox(*command: str, extra_files: Mapping[str, bytes] | None = None) -> Image:
    """A runnable image with a shell; extra files make it different from others, or large."""
    program = binaries.unpacked("busybox-static", "bin/busybox").read_bytes()
    links = {f"bin/{name}": "busybox" for name in BUSYBOX_NAMES}
    files = {"bin/busybox": program, **(extra_files or {})}
    return image(files=files, links=links, command=command)


def image(
    *,
    files: Mapping[str, bytes],
    links: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
    volumes: Sequence[str] = (),
) -> Image:
    """An image of one layer with these files, all executable, and symbolic links."""
    settings: dict[str, object] = {"Cmd": list(command), "Env": ["PATH=/bin"]}
    if volumes:
        settings["Volumes"] = {path: {} for path in volumes}
    archive = _tar(files, links or {})
    layer = gzip.compress(archive, mtime=0)
    config = {
        "architecture": ARCHITECTURE,
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [digest_of(archive)]},
    }
    return of_blobs(json.dumps(config).encode(), CONFIG_TYPE, {LAYER_TYPE: layer})


def push(image: Image, *, host: str, repository: str, tag: str) -> str:
    """Push to http://HOST; returns the reference by tag, such as 127.0.0.1:5000/app:1."""
    connection = http.client.HTTPConnection(host, timeout=PUSH_SECONDS_MAX)
    try:
        for blob in image.blobs:
            _push_blob(connection, repository, blob)
        path = f"/v2/{repository}/manifests/{tag}"
        _exchange(connection, "PUT", path, 201, image.manifest, MANIFEST_TYPE)
    finally:
        connection.close()
    return f"{host}/{repository}:{tag}"


def _push_blob(connection: http.client.HTTPConnection, repository: str, blob: bytes) -> None:
    location = _exchange(connection, "POST", f"/v2/{repository}/blobs/uploads/", 202)
    separator = "&" if "?" in location else "?"
    path = f"{location}{separator}digest={digest_of(blob)}"
    _exchange(connection, "PUT", path, 201, blob, "application/octet-stream")


def _exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    expected: int,
    body: bytes = b"",
    content_type: str = "",
) -> str:
    headers = {"Content-Type": content_type} if content_type else {}
    connection.request(method, path, body=body, headers=headers)
    response = connection.getresponse()
    text = response.read().decode(errors="replace")
    assert response.status == expected, f"{method} {path}: {response.status} {text}"
    return response.getheader("Location", "")


def _tar(files: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.mode = 0o755
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, target in links.items():
            link = tarfile.TarInfo(name)
            link.type = tarfile.SYMTYPE
            link.linkname = target
            archive.addfile(link)
    return buffer.getvalue()
