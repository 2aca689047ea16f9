"""The gate of the feature, apart from it: an option that names all gates must load quickly."""

from lading.kernel.feature_gates import Gate

RUNTIME_CLASS_IN_IMAGE_CRI_API = Gate(
    name="RuntimeClassInImageCriApi",
    default=False,  # alpha upstream, and off
    off="no runtime handler is sent to the container runtime or shown",
)
