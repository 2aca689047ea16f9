"""Names the image of a release in the manifests, by its digest, and finds what is named by a tag.

`python -m release.manifests FOLDER NAME@sha256:...` writes it into `FOLDER/base`. A tag could move
to another image later, and the agent is root on every node.
"""

import pathlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import yaml

PLACEHOLDER = "lading"
"""The name that the manifests have instead of an image; the kustomization replaces it."""
KUSTOMIZATION = pathlib.PurePath("base", "kustomization.yaml")
_BY_DIGEST = re.compile(r"(?P<name>[a-z0-9][a-z0-9._:/-]*)@(?P<digest>sha256:[0-9a-f]{64})")
_NAME = re.compile(r"[a-z0-9][a-z0-9._:-]*/[a-z0-9._/-]*[a-z0-9]")
_IMAGES = re.compile(r"^images:\n(?:[ -].*\n)+", re.MULTILINE)
VALUES = pathlib.PurePath("chart", "values.yaml")
TEMPLATES = pathlib.PurePath("chart", "templates")
"""Templates are no YAML. What they name is an expression, or made of a manifest that is checked."""
_REPOSITORY = re.compile(r"^  repository: \S+", re.MULTILINE)
_DIGEST = re.compile(r"^  digest: \S+", re.MULTILINE)


class Mutable(ValueError):
    """An image is not named by a digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedImage:
    name: str
    digest: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """`registry.example.com/lading@sha256:...`; a tag beside the digest is refused too."""
        found = _BY_DIGEST.fullmatch(text)
        if found is None or ":" in found["name"].rpartition("/")[2]:
            shown = f"{text!r} names no digest" if text else "no image is named"
            expected = "expected IMAGE=REGISTRY/lading@sha256:... of the pushed image"
            raise Mutable(f"{shown}; {expected}, or with `make dist` IMAGE=REGISTRY/lading")
        return cls(name=found["name"], digest=found["digest"])


def is_name(text: str) -> bool:
    """`registry.example.com/lading`: a repository, without a tag and without a digest."""
    return _NAME.fullmatch(text) is not None


def name_image(folder: pathlib.Path, image: ReleasedImage) -> None:
    """For kustomize and for Helm. Raises Mutable if another image still has a tag."""
    file = folder / KUSTOMIZATION
    images = [{"name": PLACEHOLDER, "newName": image.name, "digest": image.digest}]
    written = yaml.safe_dump({"images": images}, sort_keys=False)
    text, count = _IMAGES.subn(lambda _: written, file.read_text(encoding="utf-8"))
    if count != 1:
        raise Mutable(f"{file} has {count} lists of images, expected one")
    file.write_text(text, encoding="utf-8")
    values = (folder / VALUES).read_text(encoding="utf-8")
    values = _REPOSITORY.sub(f"  repository: {image.name}", values, count=1)
    values = _DIGEST.sub(f"  digest: {image.digest}", values, count=1)
    (folder / VALUES).write_text(values, encoding="utf-8")
    if found := sorted(mutable_images(folder)):
        raise Mutable(f"not named by a digest: {', '.join(found)}")


def mutable_images(folder: pathlib.Path) -> Iterator[str]:
    """FILE: IMAGE for each image that is neither a digest nor the placeholder."""
    for file in sorted(folder.rglob("*.yaml")):
        if file.is_relative_to(folder / TEMPLATES):
            continue
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            for image in _images(document):
                yield f"{file.relative_to(folder)}: {image}"


def _images(value: Any) -> Iterator[str]:
    match value:
        case {"kind": "Kustomization" | "Component", "images": list(entries)}:
            yield from (str(entry) for entry in entries if "digest" not in entry)
        case {"kind": "CustomResourceDefinition"}:
            return
        case dict():
            image = value.get("image")
            if isinstance(image, dict) and not image.get("digest"):
                yield str(image["repository"])
            if isinstance(image, str) and image != PLACEHOLDER and not _BY_DIGEST.fullmatch(image):
                yield image
            for inner in value.values():
                yield from _images(inner)
        case list():
            for inner in value:
                yield from _images(inner)


def main(folder: str, image: str) -> int:
    try:
        name_image(pathlib.Path(folder), ReleasedImage.parse(image))
    except Mutable as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
