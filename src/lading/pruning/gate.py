"""The gate of the feature, apart from it: an option that names all gates must load quickly."""

from lading.kernel.feature_gates import Gate

IMAGE_PRUNER_GATE = Gate(
    name="ImagePruner",
    default=True,
    off="the CronJob stays and prunes as before; changes of the ImagePruner have no effect",
)
