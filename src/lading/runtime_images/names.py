"""The names under which people, pods and runtimes speak of one image, made comparable."""

from collections.abc import Iterable
from dataclasses import replace

from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.ports.cri import Image

DEFAULT_REGISTRY = "docker.io"
_OLD_DEFAULT_REGISTRY = "index.docker.io"
DEFAULT_NAMESPACE = "library"  # where that registry keeps names of one component
_ID_PREFIX = "sha256:"


def qualified(text: str) -> Reference:
    """A reference as the kubelet reads it: `busybox` is `docker.io/library/busybox:latest`."""
    reference = references.parse(text).with_default_registry(DEFAULT_REGISTRY).with_default_tag()
    if reference.registry == _OLD_DEFAULT_REGISTRY:
        reference = replace(reference, registry=DEFAULT_REGISTRY)
    if reference.registry == DEFAULT_REGISTRY and "/" not in reference.repository:
        reference = replace(reference, repository=f"{DEFAULT_NAMESPACE}/{reference.repository}")
    return reference


def spellings(text: str) -> frozenset[str]:
    """The text, and the normal form that another speaker may use for the same image."""
    bare = text.removeprefix(_ID_PREFIX)
    try:
        reference = qualified(text)
    except Malformed:
        return frozenset((text, bare))
    by_digest = str(reference.at(reference.digest)) if reference.digest else str(reference)
    return frozenset((text, bare, str(reference), by_digest))


def names_of(image: Image) -> frozenset[str]:
    own: Iterable[str] = (image.id, *image.repo_tags, *image.repo_digests)
    return frozenset(spelling for name in own for spelling in spellings(name))


def goes_by(image: Image, text: str) -> bool:
    return not names_of(image).isdisjoint(spellings(text))


def display_name(image: Image) -> str:
    return next(iter((*image.repo_tags, *image.repo_digests)), image.id)
