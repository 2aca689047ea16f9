"""The images of an OpenShift release, from a file in a layer of its release image.

Layers are downloaded from the last one backwards, because the last one has the file. The
`Registry` port verifies their digests. Downloaded and unpacked bytes are limited.
"""

import asyncio
import contextlib
import gzip
import io
import tarfile
import tempfile
import zlib
from typing import IO, NamedTuple

import msgspec

from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.manifests import Descriptor, ImageManifest
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports import platform_image
from lading.ports.registry import Registry

IMAGE_REFERENCES = "release-manifests/image-references"
DOWNLOAD_BYTES_MAX = 1024**3  # a whole release image has about 500 MiB
UNPACKED_BYTES_MAX = 4 * 1024**3  # the layers of a release unpack to less than 1 GiB
FILE_BYTES_MAX = 16 * 1024 * 1024  # the file of a release has about 100 kB
TAGS_MAX = 4096  # a release has about 200
_GZIP = b"\x1f\x8b"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_FOLDER, _, _FILE = IMAGE_REFERENCES.rpartition("/")
_WHITEOUTS = {f"{_FOLDER}/.wh.{_FILE}", f"{_FOLDER}/.wh..wh..opq", f".wh.{_FOLDER}"}
"""Names of files with which a layer hides the file of the layers below it."""


class _From(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _Tag(msgspec.Struct, rename={"source": "from"}):
    name: str = ""
    source: _From = msgspec.field(default_factory=_From)


class _Spec(msgspec.Struct):
    tags: list[_Tag] = []


class _ImageStream(msgspec.Struct):
    kind: str = ""
    spec: _Spec = msgspec.field(default_factory=_Spec)


async def images(registry: Registry, release: Reference, platform: Platform) -> tuple[str, ...]:
    """The release image by digest, and every image that it names."""
    found = await platform_image.find(registry, release, platform, for_guest=False)
    content = await _content(registry, release, found.image)
    return (str(release.at(found.named_digest)), *images_in(content, name=str(release)))


def images_in(content: bytes, *, name: str) -> tuple[str, ...]:
    try:
        stream = msgspec.json.decode(content, type=_ImageStream)
    except UNREADABLE as error:
        raise _malformed(name, f"{IMAGE_REFERENCES} in it cannot be read: {error}") from error
    tags = stream.spec.tags
    if stream.kind != "ImageStream" or not 0 < len(tags) <= TAGS_MAX:
        reason = f"{IMAGE_REFERENCES} in it must be an ImageStream with 1 to {TAGS_MAX} tags"
        raise _malformed(name, reason)
    for tag in tags:
        if tag.source.kind != "DockerImage" or not tag.source.name:
            raise _malformed(name, f"the tag {tag.name!r} in {IMAGE_REFERENCES} names no image")
    return tuple(tag.source.name for tag in tags)


class LayerSearch(NamedTuple):
    content: bytes | None
    is_removed: bool
    """The layer hides the file of the layers below it."""


async def _content(registry: Registry, release: Reference, image: ImageManifest) -> bytes:
    left_bytes = DOWNLOAD_BYTES_MAX
    for layer in reversed(image.layers):
        left_bytes -= layer.size_bytes
        if left_bytes < 0:
            reason = f"no {IMAGE_REFERENCES} in its last {DOWNLOAD_BYTES_MAX} bytes of layers"
            raise _malformed(str(release), reason)
        search = await _searched(registry, release, layer)
        if search.content is not None:
            return search.content
        if search.is_removed:
            break
    raise _malformed(str(release), f"it has no {IMAGE_REFERENCES}")


async def _searched(registry: Registry, release: Reference, layer: Descriptor) -> LayerSearch:
    with tempfile.TemporaryFile() as file:
        async with contextlib.aclosing(registry.blob(release, layer)) as pieces:
            async for piece in pieces:
                file.write(piece)
        file.seek(0)
        try:
            return await asyncio.to_thread(search_layer, file)
        except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
            raise _malformed(str(release), f"layer {layer.digest}: {error}") from error


def search_layer(file: IO[bytes]) -> LayerSearch:
    """Searches a tar archive, with or without gzip. Raises the errors of tarfile and gzip."""
    begin = file.read(len(_ZSTANDARD))
    file.seek(0)
    if begin == _ZSTANDARD:
        raise ValueError("it is compressed with zstd, which is not supported")
    unpacked = gzip.GzipFile(fileobj=file) if begin.startswith(_GZIP) else file
    content, is_removed = None, False
    # Stream mode: a member is skipped by reading it, so that _Limited counts every byte.
    with tarfile.open(fileobj=_Limited(unpacked), mode="r|") as archive:
        for member in archive:
            name = member.name.removeprefix("./").removeprefix("/")
            is_removed |= name in _WHITEOUTS
            if name != IMAGE_REFERENCES or not member.isreg():
                continue
            if member.size > FILE_BYTES_MAX:
                raise ValueError(f"{name} is larger than {FILE_BYTES_MAX} bytes")
            extracted = archive.extractfile(member)
            assert extracted is not None, "a regular file has content"
            content = extracted.read()
    return LayerSearch(content, is_removed)


class _Limited(io.RawIOBase):
    """A small layer may unpack to a very large one."""

    def __init__(self, file: gzip.GzipFile | IO[bytes]) -> None:
        self._file = file
        self._read_bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        found = self._file.read(size)
        self._read_bytes += len(found)
        if self._read_bytes > UNPACKED_BYTES_MAX:
            raise ValueError(f"it unpacks to more than {UNPACKED_BYTES_MAX} bytes")
        return found


def _malformed(name: str, reason: str) -> Malformed:
    return Malformed(what="release image", text=name, reason=reason)
