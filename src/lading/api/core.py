"""The kinds of Kubernetes itself, cut down to the fields that Lading reads."""

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
    """A Node with the list of its images, which is too large to cache."""

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


class RuntimeClass(Object, frozen=True, kw_only=True):
    handler: str = ""


RUNTIME_CLASSES = Resource(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    plural="runtimeclasses",
    namespaced=False,
    type=RuntimeClass,
)


class DaemonSet(Object, frozen=True, kw_only=True):
    spec: dict[str, Any] = {}


DAEMON_SETS = Resource(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    namespaced=True,
    type=DaemonSet,
)


class CronJobStatus(Model, frozen=True, kw_only=True):
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Object, frozen=True, kw_only=True):
    spec: dict[str, Any] = {}
    status: CronJobStatus = CronJobStatus()


class JobCondition(Model, frozen=True, kw_only=True):
    type: str
    status: Truth
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class JobStatus(Model, frozen=True, kw_only=True):
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[JobCondition, ...] = ()


class Job(Object, frozen=True, kw_only=True):
    status: JobStatus = JobStatus()

    @property
    def completion(self) -> JobCondition | None:
        return self._holds("Complete")

    @property
    def failure(self) -> JobCondition | None:
        return self._holds("Failed")

    def _holds(self, type_: str) -> JobCondition | None:
        return next(
            (
                one
                for one in self.status.conditions
                if one.type == type_ and one.status is Truth.TRUE
            ),
            None,
        )


CRON_JOBS: Resource[CronJob] = Resource(
    group="batch", version="v1", kind="CronJob", plural="cronjobs", namespaced=True, type=CronJob
)
JOBS: Resource[Job] = Resource(
    group="batch", version="v1", kind="Job", plural="jobs", namespaced=True, type=Job
)


class LeaseSpec(Model, frozen=True, kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object, frozen=True, kw_only=True):
    spec: LeaseSpec = LeaseSpec()


LEASES = Resource(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    namespaced=True,
    type=Lease,
)


class ObjectReference(Model, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(Model, frozen=True, kw_only=True):
    count: int
    last_observed_time: str


class Event(Object, frozen=True, kw_only=True):
    event_time: str | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    series: EventSeries | None = None


EVENTS = Resource(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    namespaced=True,
    type=Event,
)
