"""The next state of one container, in the steps and words of a kubelet. Pure.

A container waits for its image, starts, ends, and is started again as its pod's policy says.
"""

import hashlib
from datetime import datetime, timedelta

import msgspec

from lading.kernel import conditions, references
from lading.kernel.backoff import Backoff
from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.ports import cri
from lading.standalone.workloads.kinds import (
    Container,
    ContainerState,
    ContainerStatus,
    Pod,
    Running,
    Terminated,
    Waiting,
)
from lading.standalone.workloads.pods import inputs, roles
from lading.standalone.workloads.pods.roles import Role
from lading.standalone.workloads.pods.types import ObservedPod, ProcessRecord, PullPhase

RESTARTS = Backoff(seconds_min=10, seconds_max=300, jitter_fraction=0)
"""Of the kubelet: at once, then 10 s, doubled up to five minutes."""
ERROR_SHOWN = timedelta(seconds=2)
"""So long a failed pull is ErrImagePull; then the back-off shows."""
LOST_EXIT_CODE = 137  # as a kubelet has it for a container that it cannot find
NOT_RUN = (
    "lading up runs only `lading` commands of Lading's own image, and holds the images of"
    " pre-pull pods."
)
UNSUPPORTED = (
    "lading up provides variables and volumes of Secrets and ConfigMaps, some fields of the pod,"
    " and emptyDir; it does not provide"
)
MISSING = "CreateContainerConfigError"
MISSING_RETRY = timedelta(seconds=2)
"""How soon a Secret or a ConfigMap is looked for again."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    status: ContainerStatus
    pull: str = ""
    """The image that must be pulled now."""
    start: bool = False
    """The process must be started now."""
    recheck_at: datetime | None = None


def container_id(pod: Pod, name: str, restart_count: int) -> str:
    """Always the same for one start of one container."""
    fact = f"{pod.metadata.uid} {name} {restart_count}"
    return f"lading://{hashlib.sha256(fact.encode()).hexdigest()}"


def initial(container: Container, *, has_init: bool) -> ContainerStatus:
    reason = "PodInitializing" if has_init else "ContainerCreating"
    state = ContainerState(waiting=Waiting(reason=reason))
    return ContainerStatus(name=container.name, image=container.image, state=state)


def has_succeeded(status: ContainerStatus) -> bool:
    return status.state.terminated is not None and status.state.terminated.exit_code == 0


def advance(
    pod: Pod, container: Container, before: ContainerStatus, observed: ObservedPod, now: datetime
) -> Step:
    image = observed.present.get(container.image)
    if before.state.running is not None:
        before = _while_running(pod, container, before, observed, now)
        if before.state.running is not None:
            return Step(status=before)
    ended = before.state.terminated
    if ended is not None and not _restarts(pod, container, ended):
        return Step(status=before)
    if ended is not None:
        before = _to_restart(before, ended)
    wait_until = _restart_at(before)
    if wait_until is not None and wait_until > now:
        return Step(status=_crash_loop(pod, before, wait_until), recheck_at=wait_until)
    return _start(pod, container, before, image, observed, now)


def _while_running(
    pod: Pod, container: Container, before: ContainerStatus, observed: ObservedPod, now: datetime
) -> ContainerStatus:
    if roles.is_holder(container):
        held = roles.image_volumes(pod, container) or (container.image,)
        return replace(before, ready=all(one in observed.present for one in held))
    process = observed.processes.get(container.name)
    if process is None or process.container_id != before.container_id:
        running = before.state.running
        assert running is not None
        lost = Terminated(
            exit_code=LOST_EXIT_CODE,
            reason="ContainerStatusUnknown",
            message="The container ended together with lading up.",
            started_at=running.started_at,
            finished_at=conditions.timestamp(now),
            container_id=before.container_id,
        )
        return _terminated(before, lost)
    return _of_process(before, process)


def _of_process(before: ContainerStatus, process: ProcessRecord) -> ContainerStatus:
    started_at = conditions.timestamp(process.started_at)
    if process.exit_code is None:
        return replace(
            before,
            ready=True,
            started=True,
            container_id=process.container_id,
            state=ContainerState(running=Running(started_at=started_at)),
        )
    assert process.finished_at is not None
    ended = Terminated(
        exit_code=process.exit_code,
        reason="Error" if process.exit_code else "Completed",
        message=process.output,
        started_at=started_at,
        finished_at=conditions.timestamp(process.finished_at),
        container_id=process.container_id,
    )
    return _terminated(before, ended)


def _terminated(before: ContainerStatus, ended: Terminated) -> ContainerStatus:
    return replace(
        before,
        ready=False,
        started=False,
        container_id=ended.container_id,
        state=ContainerState(terminated=ended),
    )


def _restarts(pod: Pod, container: Container, ended: Terminated) -> bool:
    """An init container runs until it succeeds."""
    if pod.metadata.deletion_timestamp or pod.spec.restart_policy == "Never":
        return False
    is_init = container in pod.spec.init_containers
    return ended.exit_code != 0 or (pod.spec.restart_policy == "Always" and not is_init)


def _to_restart(before: ContainerStatus, ended: Terminated) -> ContainerStatus:
    return replace(
        before,
        restart_count=before.restart_count + 1,
        state=ContainerState(waiting=Waiting(reason="ContainerCreating")),
        last_state=ContainerState(terminated=ended),
    )


def _restart_at(before: ContainerStatus) -> datetime | None:
    ended = before.last_state.terminated
    if ended is None or not ended.finished_at or before.restart_count < 2:
        return None
    delay = RESTARTS.delay_seconds(failures=before.restart_count - 1, jitter=0)
    return datetime.fromisoformat(ended.finished_at) + timedelta(seconds=delay)


def _crash_loop(pod: Pod, before: ContainerStatus, until: datetime) -> ContainerStatus:
    message = (
        f"back-off until {conditions.timestamp(until)} restarting failed container={before.name}"
        f" pod={pod.key}"
    )
    return _waiting(before, "CrashLoopBackOff", message)


def _start(
    pod: Pod,
    container: Container,
    before: ContainerStatus,
    image: cri.Image | None,
    observed: ObservedPod,
    now: datetime,
) -> Step:
    for volume in roles.image_volumes(pod, container):  # a kubelet pulls these first
        if volume not in observed.present:
            return _pull(volume, before, observed, now)
    if image is None and container.image_pull_policy == "Never":
        message = f'Container image "{container.image}" is not present with pull policy of Never'
        return Step(status=_waiting(before, "ErrImageNeverPull", message))
    if image is None or _must_pull(container, before, observed):
        return _pull(container.image, before, observed, now)
    before = replace(before, image_id=(*image.repo_digests, image.id)[0])
    own_id = container_id(pod, container.name, before.restart_count)
    match roles.role_of(pod, container, is_own_image=image.id in observed.own_images):
        case Role.HOLDER:
            return Step(status=_held(before, own_id, now))
        case Role.HOLD_COPIER:
            return Step(status=_terminated(before, _done(own_id, now)))
        case Role.PROCESS if missing := inputs.unsupported(pod, container):
            message = f"{UNSUPPORTED}: {', '.join(missing)}."
            return Step(status=_waiting(before, "NotRunStandalone", message))
        case Role.PROCESS:
            process = observed.processes.get(container.name)
            if process is not None and process.container_id == own_id:
                return Step(status=_of_process(before, process))
            return _start_process(pod, container, before, observed, now)
        case Role.NOT_RUN:
            return Step(status=_waiting(before, "NotRunStandalone", NOT_RUN))


def _start_process(
    pod: Pod, container: Container, before: ContainerStatus, observed: ObservedPod, now: datetime
) -> Step:
    if absent := inputs.missing(pod, container, observed.values):
        return Step(status=_waiting(before, MISSING, absent), recheck_at=now + MISSING_RETRY)
    return Step(status=before, start=True)


def _is_reference(image: str) -> bool:
    try:
        references.parse(image)
    except Malformed:
        return False
    return True


def _must_pull(container: Container, before: ContainerStatus, observed: ObservedPod) -> bool:
    """With the policy Always each start asks the registry once."""
    if container.image_pull_policy != "Always":
        return False
    record = observed.pulls.get(container.image)
    if record is None or record.phase is not PullPhase.DONE or record.ended_at is None:
        return True
    ended = before.last_state.terminated
    since = datetime.fromisoformat(ended.finished_at) if ended and ended.finished_at else None
    return since is not None and record.ended_at < since


def _pull(image: str, before: ContainerStatus, observed: ObservedPod, now: datetime) -> Step:
    if not _is_reference(image):
        message = (
            f'Failed to apply default image tag "{image}": couldn\'t parse image name'
            f' "{image}": invalid reference format'
        )
        return Step(status=_waiting(before, "InvalidImageName", message))
    record = observed.pulls.get(image)
    if record is None or record.phase is PullPhase.DONE:
        return Step(status=before, pull=image)
    if record.phase is PullPhase.WAITING:
        return Step(status=before)
    assert record.ended_at is not None
    assert record.retry_at is not None
    if record.retry_at <= now:
        return Step(status=before, pull=image)
    if now < record.ended_at + ERROR_SHOWN:
        status = _waiting(before, record.reason, record.message)
        return Step(status=status, recheck_at=record.ended_at + ERROR_SHOWN)
    message = f'Back-off pulling image "{image}": {record.reason}: {record.message}'
    status = _waiting(before, "ImagePullBackOff", message)
    return Step(status=status, recheck_at=record.retry_at)


def _waiting(before: ContainerStatus, reason: str, message: str) -> ContainerStatus:
    state = ContainerState(waiting=Waiting(reason=reason, message=message))
    return replace(before, ready=False, started=False, state=state)


def _held(before: ContainerStatus, own_id: str, now: datetime) -> ContainerStatus:
    state = ContainerState(running=Running(started_at=conditions.timestamp(now)))
    return replace(before, ready=True, started=True, container_id=own_id, state=state)


def _done(own_id: str, now: datetime) -> Terminated:
    at = conditions.timestamp(now)
    return Terminated(
        exit_code=0, reason="Completed", started_at=at, finished_at=at, container_id=own_id
    )
