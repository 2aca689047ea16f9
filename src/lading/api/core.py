"""The built-in kinds of the core group, cut down to the fields that Lading reads."""

from typing import Any

import msgspec

from lading.kernel.conditions import Truth
from lading.kernel.objects import Model, Object, Resource
from lading.kernel.values import Redacted


class NodeCondition(Model, frozen=True, kw_only=True):
    type: str
    status: Truth
    reason: str = ""
    message: str = ""


class NodeSystemInfo(Model, frozen=True, kw_only=True):
    architecture: str = ""
    operating_system: str = ""
    kubelet_version: str = ""
    container_runtime_version: str = ""
    os_image: str = ""


class NodeStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Taint(Model, frozen=True, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Model, frozen=True, kw_only=True):
    taints: tuple[Taint, ...] = ()


class Node(Object, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ListedImage(Model, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()


class NodeHeartbeat(Model, frozen=True, kw_only=True):
    type: str
    last_heartbeat_time: str | None = None


class ListedNodeStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[NodeHeartbeat, ...] = ()
    images: tuple[ListedImage, ...] = ()


class ListedNode(Object, frozen=True, kw_only=True):
    """A Node with the images that its kubelet lists, which are too large to keep."""

    status: ListedNodeStatus = ListedNodeStatus()


class PodCondition(Model, frozen=True, kw_only=True):
    type: str
    status: Truth
    reason: str = ""
    message: str = ""


class ContainerStateDetail(Model, frozen=True, kw_only=True):
    """Of `waiting` and of `terminated`."""

    reason: str = ""
    message: str = ""


class RunningContainer(Model, frozen=True, kw_only=True):
    started_at: str | None = None


class PodContainerState(Model, frozen=True, kw_only=True):
    waiting: ContainerStateDetail | None = None
    running: RunningContainer | None = None
    terminated: ContainerStateDetail | None = None


class ContainerStatus(Model, frozen=True, kw_only=True):
    name: str
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")
    ready: bool = False
    state: PodContainerState = PodContainerState()


class PodStatus(Model, frozen=True, kw_only=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()


class PodContainer(Model, frozen=True, kw_only=True):
    name: str
    image: str = ""


class ImageVolumeSource(Model, frozen=True, kw_only=True):
    reference: str = ""


class PodVolume(Model, frozen=True, kw_only=True):
    name: str
    image: ImageVolumeSource | None = None


class SchedulingGate(Model, frozen=True, kw_only=True):
    name: str


class PodSpec(Model, frozen=True, kw_only=True):
    node_name: str = ""
    init_containers: tuple[PodContainer, ...] = ()
    containers: tuple[PodContainer, ...] = ()
    ephemeral_containers: tuple[PodContainer, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    affinity: dict[str, Any] = {}


class Pod(Object, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Namespace(Object, frozen=True, kw_only=True):
    pass


class ConfigMap(Object, frozen=True, kw_only=True):
    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}
    """Base64 text, as on the wire."""


class Secret(Redacted, Object, frozen=True, kw_only=True):
    """Values stay base64 text, as on the wire, until one is needed."""

    shown = ("type",)

    type: str = ""
    data: dict[str, str] = {}


NODES = Resource(group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=Node)
LISTED_NODES = Resource(
    group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=ListedNode
)
PODS = Resource(group="", version="v1", kind="Pod", plural="pods", namespaced=True, type=Pod)
NAMESPACES = Resource(
    group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False, type=Namespace
)
CONFIG_MAPS = Resource(
    group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True, type=ConfigMap
)
SECRETS = Resource(
    group="", version="v1", kind="Secret", plural="secrets", namespaced=True, type=Secret
)
