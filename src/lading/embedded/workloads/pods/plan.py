"""The work of a node for one of its pods, and the status that it writes. Pure.

Init containers run one after another, then all containers start. The node pulls images in the
order of the containers. A pull that waits for its next attempt does not hold up the other ones.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from lading.embedded.workloads.actions import Delete, KubernetesEvent, Patch
from lading.embedded.workloads.kinds import (
    PODS,
    Condition,
    Container,
    ContainerStatus,
    Document,
    Pod,
    PodStatus,
)
from lading.embedded.workloads.pods import containers, inputs, roles
from lading.embedded.workloads.pods.containers import Step
from lading.embedded.workloads.pods.types import (
    DeclareContainers,
    ObservedPod,
    RequestPull,
    StartProcess,
    StopPod,
)
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.planning import Action, Plan, RecordEvent, earliest
from lading.kernel.values import replace
from lading.ports import cri

PRESENCE_INTERVAL = timedelta(seconds=10)
"""How often a node checks that it still has the images that its containers hold."""


class _Steps(msgspec.Struct, frozen=True, kw_only=True):
    """The next step of every container."""

    init: tuple[Step, ...]
    main: tuple[Step, ...]

    @property
    def every(self) -> tuple[Step, ...]:
        return (*self.init, *self.main)

    @property
    def is_initialized(self) -> bool:
        return all(containers.has_succeeded(step.status) for step in self.init)


def plan(observed: ObservedPod, now: datetime) -> Plan:
    actions: list[Action] = [StopPod(uid=uid, because="its pod is gone") for uid in observed.strays]
    pod = observed.pod
    if pod is None:
        return Plan(actions=tuple(actions))
    if pod.metadata.deletion_timestamp:
        return Plan(actions=(*actions, *_leaving(pod, observed, now)))
    if pod.is_finished:
        if _is_running(observed):
            actions.append(StopPod(uid=pod.metadata.uid, because="the pod has ended"))
        return Plan(actions=(*actions, *_declared(pod, observed)))
    steps = _next_steps(pod, observed, now)
    status = _status(pod, steps, now)
    actions += _work(pod, steps, observed)
    if _differs(pod.status, status):
        actions += [*_events(pod, status), _write(pod, status)]
    actions += _declared(replace(pod, status=status), observed)
    is_holding = steps.is_initialized and any(map(roles.is_holder, pod.spec.containers))
    check_at = now + PRESENCE_INTERVAL if is_holding else None
    recheck_at = earliest(*(step.recheck_at for step in steps.every), check_at)
    return Plan(actions=tuple(actions), recheck_at=recheck_at)


def _is_running(observed: ObservedPod) -> bool:
    return any(one.exit_code is None for one in observed.processes.values())


def _next_steps(pod: Pod, observed: ObservedPod, now: datetime) -> _Steps:
    is_blocked = False
    init: list[Step] = []

    def step(container: Container) -> Step:
        if is_blocked:
            return Step(status=containers.before(pod, container))
        return containers.advance(pod, container, observed, now)

    for container in pod.spec.init_containers:
        init.append(step(container))
        is_blocked = is_blocked or not containers.has_succeeded(init[-1].status)
    return _Steps(init=tuple(init), main=tuple(map(step, pod.spec.containers)))


def _work(pod: Pod, steps: _Steps, observed: ObservedPod) -> Iterator[Action]:
    pull = next((step.pull for step in steps.every if step.pull), "")
    if pull:
        yield RequestPull(pod=pod, image=pull, because="a container needs the image")
    for container, step in zip(pod.containers, steps.every, strict=True):
        if step.start:
            restarts = step.status.restart_count
            yield StartProcess(
                pod=pod,
                container=container,
                container_id=containers.container_id(pod, container.name, restarts),
                inputs=inputs.inputs(pod, container, observed.values, observed.folder),
                because="its image is there",
            )


def _leaving(pod: Pod, observed: ObservedPod, now: datetime) -> Iterator[Action]:
    """End the processes of a deleted pod, write how they ended, then delete the object."""
    stop = StopPod(uid=pod.metadata.uid, because="the pod is deleted")
    yield stop
    if _is_running(observed):
        return
    if not pod.is_finished and pod.status.container_statuses:
        status = _status(pod, _last_steps(pod, observed, now), now)
        if _differs(pod.status, status):
            yield _write(pod, status)
    yield Delete(
        resource=PODS,
        key=pod.key,
        uid=pod.metadata.uid,
        because="its containers have ended",
        grace_seconds=0,
    )


def _last_steps(pod: Pod, observed: ObservedPod, now: datetime) -> _Steps:
    """Only processes that ran take a step: nothing starts in a deleted pod."""

    def step(container: Container) -> Step:
        status = containers.before(pod, container)
        if status.state.running is None or roles.is_holder(container):
            return Step(status=status)
        return containers.advance(pod, container, observed, now)

    init = tuple(Step(status=containers.before(pod, one)) for one in pod.spec.init_containers)
    return _Steps(init=init, main=tuple(map(step, pod.spec.containers)))


def _status(pod: Pod, steps: _Steps, now: datetime) -> PodStatus:
    phase = _phase(pod, steps)
    return PodStatus(
        phase=phase,
        start_time=pod.status.start_time or conditions.timestamp(now),
        conditions=_conditions(pod, steps, phase, now),
        init_container_statuses=tuple(step.status for step in steps.init),
        container_statuses=tuple(step.status for step in steps.main),
    )


def _phase(pod: Pod, steps: _Steps) -> str:
    """Like a kubelet: a container that waits for its first start keeps the pod Pending."""
    policy = pod.spec.restart_policy
    if not steps.is_initialized:
        ended = [one.status.state.terminated for one in steps.init]
        is_failed = any(one is not None and one.exit_code != 0 for one in ended)
        return "Failed" if is_failed and policy == "Never" else "Pending"
    states = [step.status for step in steps.main]
    if any(one.state.waiting and not one.last_state.terminated for one in states):
        return "Pending"
    if any(one.state.running for one in states) or policy == "Always":
        return "Running"
    if all(containers.has_succeeded(one) for one in states):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _conditions(pod: Pod, steps: _Steps, phase: str, now: datetime) -> tuple[Condition, ...]:
    """The conditions of a kubelet. The write leaves the conditions of others alone."""
    unready = [step.status.name for step in steps.main if not step.status.ready]
    reason = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "")
    message = ""
    if unready and not reason:
        reason = "ContainersNotReady"
        message = f"containers with unready status: [{' '.join(unready)}]"
    missing = [one.status.name for one in steps.init if not containers.has_succeeded(one.status)]
    incomplete = f"containers with incomplete status: [{' '.join(missing)}]" if missing else ""
    problems = {
        "PodReadyToStartContainers": ("", ""),
        "Initialized": ("ContainersNotInitialized" if missing else "", incomplete),
        "Ready": (reason, message),
        "ContainersReady": (reason, message),
    }
    known = {one.type: one for one in pod.status.conditions}
    return tuple(_condition(type_, *why, known.get(type_), now) for type_, why in problems.items())


def _condition(
    type_: str, reason: str, message: str, old: Condition | None, now: datetime
) -> Condition:
    """False if it has a reason."""
    status = Truth.FALSE if reason else Truth.TRUE
    since = old.last_transition_time if old is not None and old.status is status else None
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since or conditions.timestamp(now),
    )


def _differs(old: PodStatus, new: PodStatus) -> bool:
    types = {one.type for one in new.conditions}
    own = sorted((one for one in old.conditions if one.type in types), key=lambda one: one.type)
    in_order = sorted(new.conditions, key=lambda one: one.type)
    return replace(old, conditions=tuple(own)) != replace(new, conditions=tuple(in_order))


def _write(pod: Pod, status: PodStatus) -> Patch:
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
    return Patch(
        resource=PODS,
        key=pod.key,
        body={"metadata": {"uid": pod.metadata.uid}, "status": body},
        because="its containers changed",
        is_strategic=True,
        lane=("Pod", pod.key),
    )


def _events(pod: Pod, status: PodStatus) -> Iterator[RecordEvent]:
    """One for each container that waits for a new reason with a message."""
    for new in (*status.init_container_statuses, *status.container_statuses):
        old = pod.statuses.get(new.name)
        was = old.state.waiting.reason if old and old.state.waiting else ""
        waiting = new.state.waiting
        if waiting is not None and waiting.message and waiting.reason != was:
            is_back_off = waiting.reason.endswith("BackOff")
            yield RecordEvent(
                reason=KubernetesEvent.BACK_OFF if is_back_off else KubernetesEvent.FAILED,
                because=f"Error: {waiting.reason}: {waiting.message}",
                warning=True,
                lane=("Pod", pod.key),
            )


def _declared(pod: Pod, observed: ObservedPod) -> tuple[DeclareContainers, ...]:
    wanted = tuple(declared(pod, observed.present))
    because = "its containers need their images"
    declare = DeclareContainers(uid=pod.metadata.uid, containers=wanted, because=because)
    return () if wanted == observed.declared else (declare,)


def declared(pod: Pod, present: Mapping[str, cri.Image]) -> Iterator[cri.Container]:
    """Every container with an image that is on the node, also one that has not started."""
    for container in pod.containers:
        image = present.get(container.image)
        if image is not None:
            status = pod.statuses.get(container.name)
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
