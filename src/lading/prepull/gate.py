"""The gate of the feature, apart from it: an option that names all gates must load quickly."""

from lading.kernel.feature_gates import Gate

PRE_PULL = Gate(
    name="PrePull",
    default=True,
    off="the DaemonSet is deleted and the Images stay, as with the Setting `false`",
)
