"""For whom an image is on the node: the handler that the runtime names, and those by digest.

Where the runtime keeps no images by handler, one image may be the host's and a handler's at once:
the guests of most virtual machines have the host's own platform. Then neither goes alone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from lading.ports.cri import Image
from lading.runtime_images import names
from lading.runtime_images.types import ImageKey, Resolution, Whose, key_of


def whose(images: Iterable[Image], resolutions: Iterable[Resolution]) -> dict[ImageKey, Whose]:
    handlers_by_name: dict[str, set[str]] = defaultdict(set)
    for resolution in resolutions:
        handlers_by_name[resolution.pulled].add(resolution.runtime_handler)
    return {key_of(image): _whose(image, handlers_by_name) for image in images}


def _whose(image: Image, handlers_by_name: dict[str, set[str]]) -> Whose:
    pulled = names.names_of(image) & handlers_by_name.keys()
    by_digest = set[str]().union(*(handlers_by_name[name] for name in pulled))
    is_only_theirs = by_digest and not image.runtime_handler and not _other_names(image, pulled)
    return Whose(
        handler=None if is_only_theirs else image.runtime_handler,
        by_digest=tuple(sorted(by_digest)),
    )


def _other_names(image: Image, pulled: Collection[str]) -> bool:
    own = (*image.repo_tags, *image.repo_digests)
    return any(names.spellings(name).isdisjoint(pulled) for name in own)
