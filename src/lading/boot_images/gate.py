"""The gate of the feature, apart from it: an option that names all gates must load quickly."""

from lading.kernel.feature_gates import Gate

MANAGED_BOOT_IMAGES = Gate(
    name="ManagedBootImages",
    default=False,
    off="no machine set changes; earlier changes stay",
)
