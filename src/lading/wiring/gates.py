"""The gates of all features. Options need them, and the features are slow to load."""

from lading.boot_images.types import MANAGED_BOOT_IMAGES
from lading.kernel import feature_gates
from lading.kernel.feature_gates import Gate
from lading.pinned_images.types import PINNED_IMAGES
from lading.prepull.types import PRE_PULL
from lading.pruning.operator.types import IMAGE_PRUNER_GATE
from lading.runtime_images.types import RUNTIME_CLASS_IN_IMAGE_CRI_API

GATES: tuple[Gate, ...] = (
    PINNED_IMAGES,
    RUNTIME_CLASS_IN_IMAGE_CRI_API,
    MANAGED_BOOT_IMAGES,
    PRE_PULL,
    IMAGE_PRUNER_GATE,
)


def parse_gates(text: str) -> dict[Gate, bool]:
    """Every gate with its value; the empty text gives the defaults."""
    return feature_gates.parse(text, GATES)
