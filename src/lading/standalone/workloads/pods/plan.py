"""What a node does for one of its pods, and the status it writes. Pure.

Init containers run one after another, then all containers. Images are pulled in the order of the
containers, one at a time for a pod; a pull that waits for its next attempt lets the others pass.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.planning import Action, Plan, earliest
from lading.kernel.values import replace
from lading.ports import cri
from lading.standalone.workloads.actions import RecordWorkloadEvent
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import (
    PODS,
    Condition,
    Container,
    ContainerStatus,
    Document,
    Pod,
    PodStatus,
)
from lading.standalone.workloads.pods import containers, inputs, roles
from lading.standalone.workloads.pods.containers import Step
from lading.standalone.workloads.pods.types import (
    DeclareContainers,
    FinishDeletion,
    ObservedPod,
    RequestPull,
    StartProcess,
    StopPod,
    WritePodStatus,
)

_IMAGE_FAULTS = {
    "InvalidImageName": KubernetesEvent.INSPECT_FAILED,
    "ErrImageNeverPull": KubernetesEvent.ERR_IMAGE_NEVER_PULL,
}
"""What keeps a container from a pull, and the reason of the event about it."""


class _Walk(msgspec.Struct, frozen=True, kw_only=True):
    """All containers after one step each."""

    init: tuple[Step, ...]
    main: tuple[Step, ...]
    is_initialized: bool

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.init, *self.main)


def plan(observed: ObservedPod, now: datetime) -> Plan:
    strays = [StopPod(uid=uid, because="its pod is gone") for uid in observed.strays]
    pod = observed.pod
    if pod is None:
        return Plan(actions=tuple(strays))
    if pod.metadata.deletion_timestamp:
        return Plan(actions=(*strays, *_leaving(pod, observed, now)))
    if pod.is_finished:
        ended = [StopPod(uid=pod.metadata.uid, because="the pod has ended")]
        running = any(one.exit_code is None for one in observed.processes.values())
        return Plan(actions=(*strays, *(ended if running else ()), *_declared(pod, observed)))
    walk = _walk(pod, observed, now)
    status = _status(pod, walk, now)
    actions: list[Action] = [*strays, *_work(pod, walk, observed)]
    if _differs(pod.status, status):
        actions += [*_events(pod, status), _write(pod, status)]
    actions += _declared(replace(pod, status=status), observed)
    return Plan(actions=tuple(actions), recheck_at=_recheck_at(pod, walk, observed, now))


def _walk(pod: Pod, observed: ObservedPod, now: datetime) -> _Walk:
    init: list[Step] = []
    blocked = False
    for container in pod.spec.init_containers:
        before = _before(pod, container)
        step = (
            Step(status=before)
            if blocked
            else containers.advance(pod, container, before, observed, now)
        )
        init.append(step)
        blocked = blocked or not containers.has_succeeded(step.status)
    main = [
        Step(status=_before(pod, container))
        if blocked
        else containers.advance(pod, container, _before(pod, container), observed, now)
        for container in pod.spec.containers
    ]
    return _Walk(init=tuple(init), main=tuple(main), is_initialized=not blocked)


def _before(pod: Pod, container: Container) -> ContainerStatus:
    known = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    found = (one for one in known if one.name == container.name)
    fresh = containers.initial(container, has_init=bool(pod.spec.init_containers))
    return next(found, fresh)


def _work(pod: Pod, walk: _Walk, observed: ObservedPod) -> list[Action]:
    actions: list[Action] = []
    by_name = {one.name: one for one in (*pod.spec.init_containers, *pod.spec.containers)}
    pull = next((step.pull for step in walk.steps if step.pull), "")
    if pull:
        actions.append(RequestPull(pod=pod, image=pull, because="a container needs the image"))
    starting = (step.status for step in walk.steps if step.start)
    return [
        *actions,
        *(_process(pod, by_name[status.name], status, observed) for status in starting),
    ]


def _process(
    pod: Pod, container: Container, status: ContainerStatus, observed: ObservedPod
) -> StartProcess:
    return StartProcess(
        pod=pod,
        container=container,
        container_id=containers.container_id(pod, container.name, status.restart_count),
        inputs=inputs.inputs(pod, container, observed.values, observed.folder),
        because="its image is there",
    )


def _leaving(pod: Pod, observed: ObservedPod, now: datetime) -> list[Action]:
    """A pod that is deleted: its processes end, its status says how, then its object goes."""
    if any(one.exit_code is None for one in observed.processes.values()):
        return [StopPod(uid=pod.metadata.uid, because="the pod is deleted")]
    actions: list[Action] = []
    if not pod.is_finished and pod.status.container_statuses:
        walk = _walk_of_ended(pod, observed, now)
        status = _status(pod, walk, now)
        if _differs(pod.status, status):
            actions.append(_write(pod, status))
    return [
        *actions,
        StopPod(uid=pod.metadata.uid, because="the pod is deleted"),
        FinishDeletion(key=pod.key, uid=pod.metadata.uid, because="its containers have ended"),
    ]


def _walk_of_ended(pod: Pod, observed: ObservedPod, now: datetime) -> _Walk:
    """Only what ran is looked at: nothing starts in a pod that leaves."""
    main = tuple(
        containers.advance(pod, container, before, observed, now)
        if before.state.running is not None and not roles.is_holder(container)
        else Step(status=before)
        for container in pod.spec.containers
        for before in (_before(pod, container),)
    )
    init = tuple(Step(status=_before(pod, one)) for one in pod.spec.init_containers)
    is_initialized = all(containers.has_succeeded(step.status) for step in init)
    return _Walk(init=init, main=main, is_initialized=is_initialized)


def _status(pod: Pod, walk: _Walk, now: datetime) -> PodStatus:
    phase = _phase(pod, walk)
    return PodStatus(
        phase=phase,
        start_time=pod.status.start_time or conditions.timestamp(now),
        conditions=_conditions(pod, walk, phase, now),
        init_container_statuses=tuple(step.status for step in walk.init),
        container_statuses=tuple(step.status for step in walk.main),
    )


def _phase(pod: Pod, walk: _Walk) -> str:
    """As a kubelet counts it: one container that waits for its first start keeps it Pending."""
    policy = pod.spec.restart_policy
    if not walk.is_initialized:
        ended = [one.status.state.terminated for one in walk.init]
        is_failed = any(one is not None and one.exit_code != 0 for one in ended)
        return "Failed" if is_failed and policy == "Never" else "Pending"
    states = [step.status for step in walk.main]
    if any(one.state.waiting and not one.last_state.terminated for one in states):
        return "Pending"
    if any(one.state.running for one in states) or policy == "Always":
        return "Running"
    if all(containers.has_succeeded(one) for one in states):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _conditions(pod: Pod, walk: _Walk, phase: str, now: datetime) -> tuple[Condition, ...]:
    """Those of the kubelet; others are left alone by the write."""
    if phase in ("Succeeded", "Failed"):
        reason, message = ("PodCompleted" if phase == "Succeeded" else "PodFailed"), ""
        is_ready = False
    else:
        unready = [step.status.name for step in walk.main if not step.status.ready]
        is_ready = not unready
        reason = "" if is_ready else "ContainersNotReady"
        message = "" if is_ready else f"containers with unready status: [{' '.join(unready)}]"
    missing = [one.status.name for one in walk.init if not containers.has_succeeded(one.status)]
    incomplete = f"containers with incomplete status: [{' '.join(missing)}]"
    wanted = (
        _condition("PodReadyToStartContainers", is_true=True),
        _condition("Initialized", is_true=True)
        if walk.is_initialized
        else _condition("Initialized", "ContainersNotInitialized", incomplete),
        _condition("Ready", reason, message, is_true=is_ready),
        _condition("ContainersReady", reason, message, is_true=is_ready),
    )
    known = {one.type: one for one in pod.status.conditions}
    return tuple(_timed(one, known.get(one.type), now) for one in wanted)


def _condition(
    type_: str, reason: str = "", message: str = "", *, is_true: bool = False
) -> Condition:
    status = Truth.TRUE if is_true else Truth.FALSE
    return Condition(type=type_, status=status, reason=reason, message=message)


def _timed(new: Condition, old: Condition | None, now: datetime) -> Condition:
    kept = old.last_transition_time if old is not None and old.status is new.status else None
    at = kept or conditions.timestamp(now)
    return replace(new, last_transition_time=at)


def _differs(old: PodStatus, new: PodStatus) -> bool:
    own = {one.type for one in new.conditions}
    kept = {one.type: one for one in old.conditions if one.type in own}
    before = (old.phase, old.start_time, old.init_container_statuses, old.container_statuses)
    after = (new.phase, new.start_time, new.init_container_statuses, new.container_statuses)
    return before != after or kept != {one.type: one for one in new.conditions}


def _write(pod: Pod, status: PodStatus) -> WritePodStatus:
    body: Document = {
        "phase": status.phase,
        "startTime": status.start_time,
        "conditions": [
            {
                "type": one.type,
                "status": str(one.status),
                "reason": one.reason or None,
                "message": one.message or None,
                "lastTransitionTime": one.last_transition_time,
            }
            for one in status.conditions
        ],
        "containerStatuses": msgspec.to_builtins(status.container_statuses),
    }
    if status.init_container_statuses:
        body["initContainerStatuses"] = msgspec.to_builtins(status.init_container_statuses)
    return WritePodStatus(
        key=pod.key, uid=pod.metadata.uid, status=body, because="its containers changed"
    )


def _events(pod: Pod, status: PodStatus) -> list[Action]:
    actions: list[Action] = []
    for new in (*status.init_container_statuses, *status.container_statuses):
        known = (*pod.status.init_container_statuses, *pod.status.container_statuses)
        old = next((one for one in known if one.name == new.name), None)
        was = old.state.waiting.reason if old and old.state.waiting else ""
        reason = new.state.waiting.reason if new.state.waiting else ""
        if new.container_id and (old is None or old.container_id != new.container_id):
            actions.append(_record(pod, KubernetesEvent.CREATED, f"Container created: {new.name}"))
            actions.append(_record(pod, KubernetesEvent.STARTED, f"Container started: {new.name}"))
        if reason == "ImagePullBackOff" and was != reason:
            assert new.state.waiting is not None
            note = new.state.waiting.message.partition('": ')[0] + '"'
            actions.append(_record(pod, KubernetesEvent.BACK_OFF, note))
            actions.append(_record(pod, KubernetesEvent.FAILED, f"Error: {reason}", warning=True))
        if reason in _IMAGE_FAULTS and was != reason:
            assert new.state.waiting is not None
            note = new.state.waiting.message
            actions.append(_record(pod, _IMAGE_FAULTS[reason], note, warning=True))
            actions.append(_record(pod, KubernetesEvent.FAILED, f"Error: {reason}", warning=True))
        if reason == containers.MISSING and was != reason:
            assert new.state.waiting is not None
            note = f"Error: {new.state.waiting.message}"
            actions.append(_record(pod, KubernetesEvent.FAILED, note, warning=True))
        if reason == "CrashLoopBackOff" and was != reason:
            note = f"Back-off restarting failed container {new.name} in pod {pod.metadata.name}"
            actions.append(_record(pod, KubernetesEvent.BACK_OFF, note, warning=True))
    return actions


def _record(
    pod: Pod, reason: KubernetesEvent, note: str, *, warning: bool = False
) -> RecordWorkloadEvent:
    return RecordWorkloadEvent(
        resource=PODS, about=pod, reason=reason, because=note, warning=warning
    )


def _declared(pod: Pod, observed: ObservedPod) -> tuple[DeclareContainers, ...]:
    """Nothing when the runtime knows them already."""
    wanted = tuple(declared(pod, observed.present))
    because = "its containers need their images"
    declare = DeclareContainers(uid=pod.metadata.uid, containers=wanted, because=because)
    return () if wanted == observed.declared else (declare,)


def declared(pod: Pod, present: Mapping[str, cri.Image]) -> Iterator[cri.Container]:
    """Every container of the pod with an image that is there, started or not."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    status_by_name = {status.name: status for status in statuses}
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        image = present.get(container.image)
        if image is not None:
            status = status_by_name.get(container.name)
            restarts = status.restart_count if status else 0
            yield cri.Container(
                id=containers.container_id(pod, container.name, restarts).rpartition("/")[2],
                name=container.name,
                state=_container_state(status),
                image=cri.ImageSpec(image=container.image),
                image_id=image.id,
                image_volumes=tuple(
                    cri.ImageSpec(image=present[one].id)
                    for one in roles.image_volumes(pod, container)
                    if one in present
                ),
            )


def _container_state(status: ContainerStatus | None) -> cri.ContainerState:
    if status is not None and status.state.running is not None:
        return cri.ContainerState.RUNNING
    if status is not None and status.state.terminated is not None:
        return cri.ContainerState.EXITED
    return cri.ContainerState.CREATED


def _recheck_at(pod: Pod, walk: _Walk, observed: ObservedPod, now: datetime) -> datetime | None:
    is_holding = any(map(roles.is_holder, pod.spec.containers)) and walk.is_initialized
    compared_at = now + observed.periods.presence_interval if is_holding else None
    return earliest(*(step.recheck_at for step in walk.steps), compared_at)
