"""The fields that the workload controllers read. Pod templates stay whole documents. Pure."""

import hashlib
import itertools
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from lading.api.core import ObjectReference
from lading.kernel.conditions import Truth
from lading.kernel.objects import Model, Object, Resource

Document = dict[str, Any]
POD_PREFIX_CHARACTERS_MAX = 57
"""The name of a pod has at most 63 characters, and the suffix takes six of them."""


class Toleration(Model, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Taint(Model, frozen=True, kw_only=True):
    key: str
    value: str = ""
    effect: str = ""


class Condition(Model, frozen=True, kw_only=True):
    """A condition of a Pod, a Job or a Node; each kind leaves out some of the fields."""

    type: str
    status: Truth
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    return any(one.type == type_ and one.status is Truth.TRUE for one in conditions)


class NodeSpec(Model, frozen=True, kw_only=True):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class ListedImage(Model, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    images: tuple[ListedImage, ...] = ()


class Node(Object, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class EnvironmentVariable(Model, frozen=True, kw_only=True):
    name: str
    value: str = ""
    value_from: Document | None = None


class VolumeMount(Model, frozen=True, kw_only=True):
    name: str
    mount_path: str
    sub_path: str = ""


class Container(Model, frozen=True, kw_only=True):
    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvironmentVariable, ...] = ()
    env_from: tuple[Document, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    image_pull_policy: str = "IfNotPresent"


class ImageVolume(Model, frozen=True, kw_only=True):
    reference: str = ""


class Volume(Model, frozen=True, kw_only=True):
    name: str
    image: ImageVolume | None = None
    secret: Document | None = None
    config_map: Document | None = None


class LocalReference(Model, frozen=True, kw_only=True):
    name: str = ""


class PodSpec(Model, frozen=True, kw_only=True):
    node_name: str = ""
    scheduling_gates: tuple[LocalReference, ...] = ()
    node_selector: dict[str, str] = {}
    affinity: Document = {}
    tolerations: tuple[Toleration, ...] = ()
    init_containers: tuple[Container, ...] = ()
    containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    image_pull_secrets: tuple[LocalReference, ...] = ()
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30


class Waiting(Model, frozen=True, kw_only=True):
    reason: str = ""
    message: str = ""


class Running(Model, frozen=True, kw_only=True):
    started_at: str | None = None


class Terminated(Model, frozen=True, kw_only=True):
    exit_code: int
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = msgspec.field(name="containerID", default="")


class ContainerState(Model, frozen=True, kw_only=True):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Model, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    ready: bool = False
    started: bool = False
    restart_count: int = 0
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")
    container_id: str = msgspec.field(name="containerID", default="")
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Model, frozen=True, kw_only=True):
    phase: str = "Pending"
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Object, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        return is_true(self.status.conditions, "Ready")

    @property
    def containers(self) -> tuple[Container, ...]:
        """All containers; the init containers come first."""
        return (*self.spec.init_containers, *self.spec.containers)

    @property
    def statuses(self) -> dict[str, ContainerStatus]:
        """The statuses of all containers, by name."""
        status = self.status
        every = (*status.init_container_statuses, *status.container_statuses)
        return {one.name: one for one in every}


class RollingUpdate(Model, frozen=True, kw_only=True):
    max_surge: int | str = 0


class UpdateStrategy(Model, frozen=True, kw_only=True):
    rolling_update: RollingUpdate = RollingUpdate()


class DaemonSetSpec(Model, frozen=True, kw_only=True):
    template: Document = {}
    update_strategy: UpdateStrategy = UpdateStrategy()


class DaemonSetStatus(Model, frozen=True, kw_only=True, omit_defaults=False):
    observed_generation: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    updated_number_scheduled: int = 0


class DaemonSet(Object, frozen=True, kw_only=True):
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ExitCodes(Model, frozen=True, kw_only=True):
    operator: str
    values: tuple[int, ...] = ()
    container_name: str | None = None


class FailureRule(Model, frozen=True, kw_only=True):
    action: str
    on_exit_codes: ExitCodes | None = None


class FailurePolicy(Model, frozen=True, kw_only=True):
    rules: tuple[FailureRule, ...] = ()


class JobSpec(Model, frozen=True, kw_only=True):
    template: Document = {}
    backoff_limit: int = 6
    pod_failure_policy: FailurePolicy = FailurePolicy()


class JobStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0


class Job(Object, frozen=True, kw_only=True):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def has(self, condition: str) -> bool:
        return is_true(self.status.conditions, condition)

    @property
    def is_finished(self) -> bool:
        return self.has("Complete") or self.has("Failed")


class CronJobSpec(Model, frozen=True, kw_only=True):
    schedule: str = ""
    time_zone: str | None = None
    suspend: bool = False
    concurrency_policy: str = "Allow"
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: Document = {}


class CronJobStatus(Model, frozen=True, kw_only=True):
    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Object, frozen=True, kw_only=True):
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


NODES = Resource(group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=Node)
PODS = Resource(group="", version="v1", kind="Pod", plural="pods", namespaced=True, type=Pod)
DAEMON_SETS = Resource(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    namespaced=True,
    type=DaemonSet,
)
JOBS = Resource(group="batch", version="v1", kind="Job", plural="jobs", namespaced=True, type=Job)
CRON_JOBS = Resource(
    group="batch", version="v1", kind="CronJob", plural="cronjobs", namespaced=True, type=CronJob
)


def owner_reference(resource: Resource[Any], owner: Object) -> Document:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from_template(
    resource: Resource[Any],
    owner: Object,
    template: Document,
    *,
    purpose: str,
    taken: Collection[str],
) -> Document:
    """A pod that the owner controls.

    Its name is the first free one of a fixed sequence for its purpose, so that no pod is created
    twice.
    """
    metadata = template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    prefix = owner.metadata.name[:POD_PREFIX_CHARACTERS_MAX]
    names = (
        f"{prefix}-{_digest(f'{owner.metadata.uid} {purpose} {attempt}')[:5]}"
        for attempt in itertools.count()
    )
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            **kept,
            "name": next(name for name in names if name not in taken),
            "namespace": owner.metadata.namespace,
            "ownerReferences": [owner_reference(resource, owner)],
        },
        "spec": template.get("spec") or {},
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def controller_uid(one: Object) -> str:
    """The UID of the object that controls this one, or ""."""
    owners = (owner.uid for owner in one.metadata.owner_references if owner.controller)
    return next(owners, "")
