"""The next state of one container, in the steps and words of a kubelet. Pure.

A container waits for its image, starts, ends, and restarts if the policy of its pod says so.
"""

import hashlib
from datetime import datetime, timedelta

import msgspec

from lading.embedded.workloads.kinds import (
    Container,
    ContainerState,
    ContainerStatus,
    Pod,
    Running,
    Terminated,
    Waiting,
)
from lading.embedded.workloads.pods import inputs, roles
from lading.embedded.workloads.pods.roles import Role
from lading.embedded.workloads.pods.types import ObservedPod, ProcessRecord, PullPhase
from lading.kernel import conditions, references
from lading.kernel.backoff import Backoff
from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.ports import cri

RESTARTS = Backoff(seconds_min=10, seconds_max=300, jitter_fraction=0)
"""The kubelet waits 10 s before the second restart, then twice as long, up to five minutes."""
ERROR_SHOWN = timedelta(seconds=2)
"""A failed pull shows ErrImagePull for this long, then ImagePullBackOff."""
LOST_EXIT_CODE = 137  # a kubelet reports this code for a container that it cannot find
NOT_RUN = (
    "lading up runs only `lading` commands of Lading's own image, and holds the images of"
    " pre-pull pods."
)
UNSUPPORTED = (
    "lading up provides some fields of the pod and whole Secrets as variables, and whole Secrets"
    " and ConfigMaps as volumes; it does not provide"
)
INVALID_NAME = (
    'Failed to apply default image tag "{0}": couldn\'t parse image name "{0}": invalid reference'
    " format"
)
MISSING_RETRY = timedelta(seconds=2)
"""The delay before the next look for a Secret or a ConfigMap."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    status: ContainerStatus
    pull: str = ""
    """The image to pull now."""
    start: bool = False
    """Whether to start the process now."""
    recheck_at: datetime | None = None


def container_id(pod: Pod, name: str, restart_count: int) -> str:
    """The same for one start of one container."""
    fact = f"{pod.metadata.uid} {name} {restart_count}"
    return f"lading://{hashlib.sha256(fact.encode()).hexdigest()}"


def before(pod: Pod, container: Container) -> ContainerStatus:
    """The status of the container now; the initial one if it has none."""
    reason = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
    state = ContainerState(waiting=Waiting(reason=reason))
    initial = ContainerStatus(name=container.name, image=container.image, state=state)
    return pod.statuses.get(container.name, initial)


def has_succeeded(status: ContainerStatus) -> bool:
    return status.state.terminated is not None and status.state.terminated.exit_code == 0


def advance(pod: Pod, container: Container, observed: ObservedPod, now: datetime) -> Step:
    status = before(pod, container)
    if status.state.running is not None:
        status = _while_running(pod, container, status, observed, now)
        if status.state.running is not None:
            return Step(status=status)
    ended = status.state.terminated
    if ended is not None:
        if not _restarts(pod, container, ended):
            return Step(status=status)
        status = replace(
            status,
            restart_count=status.restart_count + 1,
            state=ContainerState(waiting=Waiting(reason="ContainerCreating")),
            last_state=ContainerState(terminated=ended),
        )
    restart_at = _restart_at(status)
    if restart_at is not None and restart_at > now:
        message = (
            f"back-off until {conditions.timestamp(restart_at)} restarting failed"
            f" container={status.name} pod={pod.key}"
        )
        waiting = _waiting(status, "CrashLoopBackOff", message)
        return Step(status=waiting, recheck_at=restart_at)
    return _start(pod, container, status, observed, now)


def _while_running(
    pod: Pod, container: Container, status: ContainerStatus, observed: ObservedPod, now: datetime
) -> ContainerStatus:
    if roles.is_holder(container):
        held = roles.image_volumes(pod, container) or (container.image,)
        return replace(status, ready=all(one in observed.present for one in held))
    process = observed.processes.get(container.name)
    if process is not None and process.container_id == status.container_id:
        return _of_process(status, process)
    assert status.state.running is not None
    lost = Terminated(
        exit_code=LOST_EXIT_CODE,
        reason="ContainerStatusUnknown",
        message="The container ended together with lading up.",
        started_at=status.state.running.started_at,
        finished_at=conditions.timestamp(now),
        container_id=status.container_id,
    )
    return _terminated(status, lost)


def _of_process(status: ContainerStatus, process: ProcessRecord) -> ContainerStatus:
    if process.exit_code is None:
        if process.started_at is None:
            return _waiting(status, "ContainerCreating", "")
        return _running(status, process.container_id, conditions.timestamp(process.started_at))
    assert process.finished_at is not None
    ended = Terminated(
        exit_code=process.exit_code,
        reason="Error" if process.exit_code else "Completed",
        message=process.output,
        started_at=conditions.timestamp(process.started_at or process.finished_at),
        finished_at=conditions.timestamp(process.finished_at),
        container_id=process.container_id,
    )
    return _terminated(status, ended)


def _restarts(pod: Pod, container: Container, ended: Terminated) -> bool:
    """An init container runs until it succeeds."""
    if pod.metadata.deletion_timestamp or pod.spec.restart_policy == "Never":
        return False
    is_init = container in pod.spec.init_containers
    return ended.exit_code != 0 or (pod.spec.restart_policy == "Always" and not is_init)


def _restart_at(status: ContainerStatus) -> datetime | None:
    ended = status.last_state.terminated
    if ended is None or not ended.finished_at or status.restart_count < 2:
        return None
    delay = RESTARTS.delay_seconds(failures=status.restart_count - 1, jitter=0)
    return datetime.fromisoformat(ended.finished_at) + timedelta(seconds=delay)


def _start(
    pod: Pod, container: Container, status: ContainerStatus, observed: ObservedPod, now: datetime
) -> Step:
    for volume in roles.image_volumes(pod, container):  # a kubelet pulls these first
        if volume not in observed.present:
            return _pull(volume, status, observed, now)
    image = observed.present.get(container.image)
    if image is None and container.image_pull_policy == "Never":
        message = f'Container image "{container.image}" is not present with pull policy of Never'
        return Step(status=_waiting(status, "ErrImageNeverPull", message))
    if image is None:
        return _pull(container.image, status, observed, now)
    status = replace(status, image_id=(*image.repo_digests, image.id)[0])
    return _start_as(_role(pod, container, image, observed), pod, container, status, observed, now)


def _role(pod: Pod, container: Container, image: cri.Image, observed: ObservedPod) -> Role:
    return roles.role_of(pod, container, is_own_image=image.id in observed.own_images)


def _start_as(
    role: Role,
    pod: Pod,
    container: Container,
    status: ContainerStatus,
    observed: ObservedPod,
    now: datetime,
) -> Step:
    own_id, at = container_id(pod, container.name, status.restart_count), conditions.timestamp(now)
    match role:
        case Role.HOLDER:
            return Step(status=_running(status, own_id, at))
        case Role.HOLD_COPIER:
            done = Terminated(
                exit_code=0, reason="Completed", started_at=at, finished_at=at, container_id=own_id
            )
            return Step(status=_terminated(status, done))
        case Role.NOT_RUN:
            return Step(status=_waiting(status, "NotRunStandalone", NOT_RUN))
        case Role.PROCESS:
            process = observed.processes.get(container.name)
            if process is not None and process.container_id == own_id:
                return Step(status=_of_process(status, process))
            return _start_process(pod, container, status, observed, now)


def _start_process(
    pod: Pod, container: Container, status: ContainerStatus, observed: ObservedPod, now: datetime
) -> Step:
    if unsupported := inputs.unsupported(pod, container):
        message = f"{UNSUPPORTED}: {', '.join(unsupported)}."
        return Step(status=_waiting(status, "NotRunStandalone", message))
    if missing := inputs.missing(pod, container, observed.values):
        waiting = _waiting(status, "CreateContainerConfigError", missing)
        return Step(status=waiting, recheck_at=now + MISSING_RETRY)
    return Step(status=status, start=True)


def _pull(image: str, status: ContainerStatus, observed: ObservedPod, now: datetime) -> Step:
    try:
        references.parse(image)
    except Malformed:
        return Step(status=_waiting(status, "InvalidImageName", INVALID_NAME.format(image)))
    record = observed.pulls.get(image)
    if record is not None and record.phase is PullPhase.WAITING:
        return Step(status=status)
    if record is None or record.phase is PullPhase.DONE:
        return Step(status=status, pull=image)
    assert record.ended_at is not None
    assert record.retry_at is not None
    if record.retry_at <= now:
        return Step(status=status, pull=image)
    if now < record.ended_at + ERROR_SHOWN:
        waiting = _waiting(status, "ErrImagePull", record.message)
        return Step(status=waiting, recheck_at=record.ended_at + ERROR_SHOWN)
    message = f'Back-off pulling image "{image}": ErrImagePull: {record.message}'
    waiting = _waiting(status, "ImagePullBackOff", message)
    return Step(status=waiting, recheck_at=record.retry_at)


def _waiting(status: ContainerStatus, reason: str, message: str) -> ContainerStatus:
    state = ContainerState(waiting=Waiting(reason=reason, message=message))
    return replace(status, ready=False, started=False, state=state)


def _running(status: ContainerStatus, own_id: str, started_at: str) -> ContainerStatus:
    state = ContainerState(running=Running(started_at=started_at))
    return replace(status, ready=True, started=True, container_id=own_id, state=state)


def _terminated(status: ContainerStatus, ended: Terminated) -> ContainerStatus:
    return replace(
        status,
        ready=False,
        started=False,
        container_id=ended.container_id,
        state=ContainerState(terminated=ended),
    )
