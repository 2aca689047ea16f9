"""Every kind that Lading owns and may install on a plain Kubernetes."""

from lading.api.definitions import Definition
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODE
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOL
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET

DEFINITIONS: tuple[Definition, ...] = (PINNED_IMAGE_SET, MACHINE_CONFIG_POOL, MACHINE_CONFIG_NODE)
