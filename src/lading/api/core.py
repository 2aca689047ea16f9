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
    container_runtime_version: str = ""
    kubelet_version: str = ""


class NodeStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    allocatable: dict[str, str] = {}


class Node(Object, frozen=True, kw_only=True):
    status: NodeStatus = NodeStatus()


class Namespace(Object, frozen=True, kw_only=True):
    pass


class ConfigMap(Object, frozen=True, kw_only=True):
    data: dict[str, str] = {}


class Secret(Object, frozen=True, kw_only=True):
    """Values stay base64 text, as on the wire, until somebody needs one."""

    type: str = ""
    data: dict[str, str] = {}


class Container(Model, frozen=True, kw_only=True):
    name: str
    image: str = ""


class ImageVolume(Model, frozen=True, kw_only=True):
    reference: str = ""


class Volume(Model, frozen=True, kw_only=True):
    name: str
    image: ImageVolume | None = None


class PodSpec(Model, frozen=True, kw_only=True):
    node_name: str = ""
    runtime_class_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()


class PodStatus(Model, frozen=True, kw_only=True):
    phase: str = ""


class Pod(Object, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


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
PODS = Resource(group="", version="v1", kind="Pod", plural="pods", namespaced=True, type=Pod)
