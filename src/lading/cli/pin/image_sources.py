"""The images in lists and manifests, each with the place that names it.

A list has one image per line, as `kubeadm config images list` prints it. Of manifests, the images
of pods, pod templates, ImageStreams and PinnedImageSets are read.
"""

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


def in_text(file: str, text: str) -> ImageSources:
    file = "standard input" if file == "-" else file
    lines = list_lines(text)
    if lines is not None:
        return ImageSources(tuple(NamedImage(line, file) for line in lines), ())
    sources = documents.objects(file, text)
    images = [
        NamedImage(image, _place(source)) for source in sources for image in _known_images(source)
    ]
    return ImageSources(tuple(images), tuple(_place(one) for one in sources if _has_unread(one)))


def list_lines(text: str) -> list[str] | None:
    """The lines of a list without comments; None if the text is not a list."""
    lines = [line.split(" #")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    is_list = all(
        len(line.split()) == 1 and not line.startswith(("{", "[", "---")) and line[-1] != ":"
        for line in lines
    )
    return lines if is_list else None


def _known_images(source: ManifestSource) -> list[str]:
    group = source.api_version.rpartition("/")[0]
    found = extraction.mentions(source.content, kind=source.kind, cutoff=None, group=group)
    return [mention.text for mention in found if mention.form is Form.IMAGE]


def _has_unread(source: ManifestSource) -> bool:
    return not _known_images(source) and _has_image_field(source.content)


def _has_image_field(value: Any) -> bool:
    if isinstance(value, dict):
        return any(
            (key == "image" and isinstance(inner, str) and bool(inner)) or _has_image_field(inner)
            for key, inner in value.items()
        )
    return isinstance(value, list) and any(map(_has_image_field, value))


def _place(source: ManifestSource) -> str:
    return f"{source.file}: {extraction.described(source.content, source.kind)}"
