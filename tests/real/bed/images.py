"""Small OCI images made in memory, and pushed to a registry over plain HTTP.

Enough to run containers and to differ by digest; not an image builder.
"""

import http.client
import io
import tarfile
from collections.abc import Mapping, Sequence

from release.oci import MANIFEST_TYPE, Image, digest_of, of_archive
from tests.real.setup import binaries

BUSYBOX_NAMES = ("sh", "sleep", "true", "cat", "ls", "echo")
PUSH_SECONDS_MAX = 30


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
    return of_archive(_tar(files, links or {}), settings=settings)


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
