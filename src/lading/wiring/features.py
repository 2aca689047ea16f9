"""All features, and the kinds that they own. Add a new feature here."""

from collections.abc import Iterable

from lading.api.definitions import Definition
from lading.boot_images.feature import FEATURE as BOOT_IMAGES
from lading.loop.feature import Feature
from lading.pinned_images.feature import FEATURE as PINNED_IMAGES
from lading.pools.feature import FEATURE as POOLS
from lading.prepull.feature import FEATURE as PRE_PULL
from lading.pruning.feature import FEATURE as PRUNING
from lading.runtime_images.feature import FEATURE as RUNTIME_IMAGES

FEATURES: tuple[Feature, ...] = (
    PINNED_IMAGES,
    RUNTIME_IMAGES,
    BOOT_IMAGES,
    PRE_PULL,
    PRUNING,
    POOLS,
)


def definitions_of(features: Iterable[Feature]) -> tuple[Definition, ...]:
    """The kinds that the features own, each once."""
    return tuple({one.name: one for feature in features for one in feature.owns}.values())


DEFINITIONS: tuple[Definition, ...] = definitions_of(FEATURES)
"""Every kind that Lading owns and may install on a plain Kubernetes."""
