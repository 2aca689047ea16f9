"""The images of an OpenShift release, from the file inside its release image.

Reads the layers through the `Registry` port, the last one first, because that one has the file;
the bytes that it downloads are bounded. Each layer is read to its end, so that its digest is
verified.
"""

import contextlib

import msgspec

from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.manifests import Descriptor, ImageManifest
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.pinned_images.layer_search import LayerSearch
from lading.ports import platform_image
from lading.ports.registry import Registry

IMAGE_REFERENCES = "release-manifests/image-references"
DOWNLOAD_BYTES_MAX = 1024**3  # a whole release image has about 500 MiB
TAGS_MAX = 4096  # a release has some 200


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
    search = LayerSearch(IMAGE_REFERENCES)
    async with contextlib.aclosing(registry.blob(release, layer)) as pieces:
        async for piece in pieces:
            search.feed(piece)
    return search


def _malformed(name: str, reason: str) -> Malformed:
    return Malformed(what="release image", text=name, reason=reason)
