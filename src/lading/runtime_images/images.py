"""The images of a node: comparable names, one entry for each, and their runtime handlers.

People, pods and runtimes write the name of an image differently, and a runtime may list an image
twice. If the runtime ignores handlers, one image may serve the host and a handler, because most
guests have the platform of the host.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.ports.cri import Cri, Image, ImageSpec, InvalidReference
from lading.runtime_images import state as image_state
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import (
    DigestPull,
    ImageHandlers,
    LocalImageId,
    local_id,
)

_ID_PREFIX = "sha256:"


def spellings(text: str) -> frozenset[str]:
    """The text, and the forms that other programs may use for the same image."""
    bare = text.removeprefix(_ID_PREFIX)
    try:
        reference = references.qualified(text)
    except Malformed:
        return frozenset((text, bare))
    by_digest = str(reference.at(reference.digest)) if reference.digest else str(reference)
    return frozenset((text, bare, str(reference), by_digest))


def names_of(image: Image) -> frozenset[str]:
    own: Iterable[str] = (image.id, *image.repo_tags, *image.repo_digests)
    return frozenset(spelling for name in own for spelling in spellings(name))


def has_name(image: Image, text: str) -> bool:
    return not names_of(image).isdisjoint(spellings(text))


def display_name(image: Image) -> str:
    return next(iter((*image.repo_tags, *image.repo_digests)), image.id)


def merged(images: Iterable[Image]) -> tuple[Image, ...]:
    """One sorted entry for each image, with all its names, and pinned if any entry is."""
    by_id: dict[LocalImageId, Image] = {}
    for image in images:
        other = by_id.get(local_id(image))
        by_id[local_id(image)] = image if other is None else _merge(other, image)
    return tuple(by_id[one] for one in sorted(by_id))


def _merge(one: Image, other: Image) -> Image:
    return replace(
        one,
        repo_tags=tuple(dict.fromkeys(one.repo_tags + other.repo_tags)),
        repo_digests=tuple(dict.fromkeys(one.repo_digests + other.repo_digests)),
        pinned=one.pinned or other.pinned,
    )


def handlers_of(
    images: Iterable[Image], digest_pulls: Iterable[DigestPull]
) -> dict[LocalImageId, ImageHandlers]:
    """The runtime handlers that each image serves."""
    handlers_by_name: dict[str, set[str]] = defaultdict(set)
    for pull in digest_pulls:
        handlers_by_name[pull.pulled].add(pull.runtime_handler)
    return {local_id(image): _handlers(image, handlers_by_name) for image in images}


def ids_for_classes_only(
    images: Iterable[Image], digest_pulls: Iterable[DigestPull]
) -> frozenset[str]:
    """The IDs of the images that serve a runtime handler, and not the host."""
    handlers = handlers_of(merged(images), digest_pulls)
    of_host = {one.image_id for one, found in handlers.items() if found.listed == ""}
    return frozenset(one.image_id for one in handlers) - of_host


def _handlers(image: Image, handlers_by_name: dict[str, set[str]]) -> ImageHandlers:
    pulled = names_of(image) & handlers_by_name.keys()
    by_digest = set[str]().union(*(handlers_by_name[name] for name in pulled))
    is_only_theirs = by_digest and not image.runtime_handler and not _other_names(image, pulled)
    return ImageHandlers(
        listed=None if is_only_theirs else image.runtime_handler,
        by_digest=tuple(sorted(by_digest)),
    )


def _other_names(image: Image, pulled: Collection[str]) -> bool:
    own = (*image.repo_tags, *image.repo_digests)
    return any(spellings(name).isdisjoint(pulled) for name in own)


async def find(runtime: Cri, state: ImageStateFile, spec: ImageSpec) -> Image | None:
    """The image of that name for that handler, also if the runtime ignores handlers.

    Such a runtime returns the host's image for every handler, which would be the wrong one.
    """
    found = await _named(runtime, spec)
    if not spec.runtime_handler or (found and found.runtime_handler == spec.runtime_handler):
        return found
    digest_pulls = (await state.load()).digest_pulls
    newest = image_state.newest_digest_pull(
        digest_pulls, reference=_qualified(spec.image), runtime_handler=spec.runtime_handler
    )
    if newest is not None:
        return await runtime.image(ImageSpec(image=newest.pulled))
    return found if found and _serves(spec.runtime_handler, found, digest_pulls) else None


def _serves(handler: str, image: Image, digest_pulls: Iterable[DigestPull]) -> bool:
    return handler in handlers_of([image], digest_pulls)[local_id(image)].by_digest


async def _named(runtime: Cri, spec: ImageSpec) -> Image | None:
    """CRI-O refuses a short name that it cannot resolve, but it pulled the image by a long one."""
    try:
        return await runtime.image(spec)
    except InvalidReference:
        qualified = _qualified(spec.image)
        if qualified == spec.image:
            return None
        return await runtime.image(replace(spec, image=qualified))


def _qualified(text: str) -> str:
    try:
        return str(references.qualified(text))
    except Malformed:  # an ID
        return text
