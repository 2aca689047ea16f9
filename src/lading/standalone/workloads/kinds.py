"""The kinds as the workload controllers read them. Pod templates stay whole documents."""

from typing import Any

import msgspec

from lading.kernel.conditions import Truth
from lading.kernel.objects import Model, Object, Resource

Document = dict[str, Any]


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
    """A condition of a pod, a job or a node; each leaves out some of the fields."""

    type: str
    status: Truth
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


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


class SourceReference(Model, frozen=True, kw_only=True):
    """A Secret or a ConfigMap, or one of its keys."""

    name: str = ""
    key: str = ""
    optional: bool = False


class FieldReference(Model, frozen=True, kw_only=True):
    field_path: str = ""


class VariableSource(Model, frozen=True, kw_only=True):
    field_ref: FieldReference | None = None
    secret_key_ref: SourceReference | None = None
    config_map_key_ref: SourceReference | None = None


class EnvironmentVariable(Model, frozen=True, kw_only=True):
    name: str
    value: str = ""
    value_from: VariableSource | None = None


class EnvironmentSource(Model, frozen=True, kw_only=True):
    prefix: str = ""
    secret_ref: SourceReference | None = None
    config_map_ref: SourceReference | None = None


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
    env_from: tuple[EnvironmentSource, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    image_pull_policy: str = "IfNotPresent"


class KeyPath(Model, frozen=True, kw_only=True):
    key: str
    path: str


class SecretVolume(Model, frozen=True, kw_only=True):
    secret_name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False


class ConfigMapVolume(Model, frozen=True, kw_only=True):
    name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False


class ImageVolume(Model, frozen=True, kw_only=True):
    reference: str = ""


class Volume(Model, frozen=True, kw_only=True):
    name: str
    image: ImageVolume | None = None
    empty_dir: Document | None = None
    secret: SecretVolume | None = None
    config_map: ConfigMapVolume | None = None


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


class RollingUpdate(Model, frozen=True, kw_only=True):
    max_surge: int | str = 0
    max_unavailable: int | str = 1


class UpdateStrategy(Model, frozen=True, kw_only=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DaemonSetSpec(Model, frozen=True, kw_only=True):
    template: Document = {}
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0


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


class ConditionPattern(Model, frozen=True, kw_only=True):
    type: str
    status: str = "True"


class FailureRule(Model, frozen=True, kw_only=True):
    action: str
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] = ()


class FailurePolicy(Model, frozen=True, kw_only=True):
    rules: tuple[FailureRule, ...] = ()


class JobSpec(Model, frozen=True, kw_only=True):
    template: Document = {}
    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    pod_failure_policy: FailurePolicy = FailurePolicy()


class Uncounted(Model, frozen=True, kw_only=True):
    """Pods that ended and are not in the counters yet, by UID."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    uncounted_terminated_pods: Uncounted = Uncounted()


class Job(Object, frozen=True, kw_only=True):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def has(self, condition: str) -> bool:
        return any(
            one.type == condition and one.status is Truth.TRUE for one in self.status.conditions
        )

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


class JobReference(Model, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class CronJobStatus(Model, frozen=True, kw_only=True):
    active: tuple[JobReference, ...] = ()
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
    """As a controller marks what it makes."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_uid(one: Object) -> str:
    """The UID of the object that controls this one; empty when none does."""
    owners = (owner.uid for owner in one.metadata.owner_references if owner.controller)
    return next(owners, "")
