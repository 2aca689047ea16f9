"""The kinds that the dashboard reads, cut down to what it shows."""

from typing import Any

from lading.api.core import NodeCondition
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.longhorn import IMAGES, SETTINGS
from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORIES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.api.node import RUNTIME_CLASSES
from lading.kernel.objects import Model, Object, Resource


class ShownNodeImage(Model, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class ShownNodeStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ShownNodeImage, ...] = ()


class ShownNode(Object, frozen=True, kw_only=True):
    """A Node with the images that its kubelet lists."""

    status: ShownNodeStatus = ShownNodeStatus()


SHOWN_NODES = Resource(
    group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=ShownNode
)
FOLLOWED: tuple[Resource[Any], ...] = (
    SHOWN_NODES,
    PINNED_IMAGE_SETS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIG_NODES,
    IMAGES,
    SETTINGS,
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    IMAGE_PRUNERS,
    RUNTIME_CLASSES,
)
