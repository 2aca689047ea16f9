"""The gates of all features, without the features: what an option needs to know of them."""

from lading.boot_images.gate import MANAGED_BOOT_IMAGES
from lading.kernel import feature_gates
from lading.kernel.feature_gates import Gate
from lading.pinned_images.gate import PINNED_IMAGES
from lading.prepull.gate import PRE_PULL
from lading.pruning.gate import IMAGE_PRUNER_GATE
from lading.runtime_images.gate import RUNTIME_CLASS_IN_IMAGE_CRI_API

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
