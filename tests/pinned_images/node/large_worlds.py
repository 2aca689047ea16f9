"""Ten sets of 500 images, and the same with a change."""

from lading.kernel.values import replace
from lading.pinned_images.node.types import Desired, DesiredSet
from tests.pinned_images.node import whole_nodes

SETS = 10
IMAGES_PER_SET = 500
IMAGES_CHANGED = 10


def many_sets() -> Desired:
    return Desired(node_name="node-1", sets=tuple(map(large_set, range(SETS))))


def large_set(number: int) -> DesiredSet:
    words = (f"set-{number}/image-{image}" for image in range(IMAGES_PER_SET))
    return DesiredSet(
        name=f"set-{number}",
        generation=1,
        images=whole_nodes.image_keys(words),
    )


def changed(desired: Desired) -> Desired:
    """The next generation of the first set has some new images instead of old ones."""
    first, *others = desired.sets
    new = whole_nodes.image_keys(f"set-0/new-{image}" for image in range(IMAGES_CHANGED))
    edited = replace(first, generation=2, images=(*first.images[IMAGES_CHANGED:], *new))
    return replace(desired, sets=(edited, *others))
