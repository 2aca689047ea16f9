"""The gate of the feature, apart from it: an option that names all gates must load quickly."""

from lading.kernel.feature_gates import Gate

PINNED_IMAGES = Gate(
    name="PinnedImages",
    default=True,
    off=(
        "the controller removes its sets from all pools, and agents unpin every image that Lading"
        " pinned"
    ),
)
