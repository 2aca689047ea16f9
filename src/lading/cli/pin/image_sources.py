"""The images that lists and manifests name, each with the place that names it.

A list is what `kubeadm config images list` prints: an image a line. In manifests these count: the
images of pods, pod templates, image streams and PinnedImageSets; with `all_fields` also every field
`image` of any other kind.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from lading.cli import documents
from lading.cli.documents import ManifestSource
from lading.pruning.engine.references import extraction
from lading.pruning.engine.types import Form


class NamedImage(NamedTuple):
    image: str
    found_in: str


class ImageSources(NamedTuple):
    images: tuple[NamedImage, ...]
    unread: tuple[str, ...]
    """Objects with fields `image` that were not read, each with its file."""


def in_text(file: str, text: str, *, all_fields: bool) -> ImageSources:
    file = "standard input" if file == "-" else file
    lines = list_lines(text)
    if lines is not None:
        return ImageSources(tuple(NamedImage(line, file) for line in lines), ())
    sources = documents.objects(file, text)
    images = [one for source in sources for one in in_manifest(source, all_fields=all_fields)]
    unread = () if all_fields else tuple(_place(one) for one in sources if _has_unread(one))
    return ImageSources(tuple(images), unread)


def list_lines(text: str) -> list[str] | None:
    """The lines of a list without its comments, each one word; None when it is no list."""
    lines = [line.split(" #")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    is_list = all(
        len(line.split()) == 1 and not line.startswith(("{", "[", "---")) and line[-1] != ":"
        for line in lines
    )
    return lines if is_list else None


def in_manifest(source: ManifestSource, *, all_fields: bool) -> Iterator[NamedImage]:
    place = _place(source)
    known = _known_images(source)
    yield from (NamedImage(image, place) for image in known)
    if all_fields and not known:
        yield from (NamedImage(image, place) for image in _image_fields(source.content))


def _known_images(source: ManifestSource) -> list[str]:
    group = source.api_version.rpartition("/")[0]
    found = extraction.mentions(source.content, kind=source.kind, cutoff=None, group=group)
    return [mention.text for mention in found if mention.form is Form.IMAGE]


def _has_unread(source: ManifestSource) -> bool:
    return not _known_images(source) and any(True for _ in _image_fields(source.content))


def _image_fields(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "image" and isinstance(inner, str) and inner:
                yield inner
            else:
                yield from _image_fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _image_fields(inner)


def _place(source: ManifestSource) -> str:
    return f"{source.file}: {extraction.described(source.content, source.kind)}"
