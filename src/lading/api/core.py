"""The built-in kinds of the core group, cut down to the fields that Lading reads."""

from lading.kernel.conditions import Truth
from lading.kernel.objects import Model, Object, Resource


class NodeCondition(Model, frozen=True, kw_only=True):
    type: str
    status: Truth
    reason: str = ""
    message: str = ""


class NodeSystemInfo(Model, frozen=True, kw_only=True):
    architecture: str = ""
    operating_system: str = ""
    kubelet_version: str = ""
    os_image: str = ""


class NodeStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Object, frozen=True, kw_only=True):
    status: NodeStatus = NodeStatus()


class Namespace(Object, frozen=True, kw_only=True):
    pass


class ConfigMap(Object, frozen=True, kw_only=True):
    data: dict[str, str] = {}


class Secret(Object, frozen=True, kw_only=True):
    """Values stay base64 text, as on the wire, until one is needed."""

    type: str = ""
    data: dict[str, str] = {}


NODES = Resource(group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=Node)
NAMESPACES = Resource(
    group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False, type=Namespace
)
CONFIG_MAPS = Resource(
    group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True, type=ConfigMap
)
SECRETS = Resource(
    group="", version="v1", kind="Secret", plural="secrets", namespaced=True, type=Secret
)
