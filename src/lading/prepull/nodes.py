"""The images that one worker node holds and its faults, from its Node and its pods. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from lading.api.core import ContainerStatus, Node, Pod, Taint
from lading.kernel import node_affinity
from lading.kernel.conditions import Truth
from lading.prepull import faults, holder, holding, presence
from lading.prepull.presence import ImageList
from lading.prepull.types import (
    IMAGES_PRESENT,
    Fault,
    GatedPod,
    ImageReason,
    LostImages,
    NodeRecord,
    PrePullSettings,
    Toleration,
)

MISSING_PREFIX, FOREIGN_PREFIX = "missing: ", "wrong platform: "
"""Begin parts of the message of condition ImagesPresent; the names of containers follow."""


_PRESSURE = Fault(
    why=ImageReason.NO_SPACE,
    message="The node has DiskPressure. Its pod starts when the pressure has ended.",
)
_FOREIGN = Fault(
    why=ImageReason.NO_MATCHING_PLATFORM,
    message="The image is made for another platform than that of the node. Use one that is made "
    "for it, or an index that has one.",
)
_EFFECTS = {"NoSchedule", "NoExecute"}
_TOLERATED = {
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
}
"""Taints that the pods of every DaemonSet tolerate."""


class ExpectedDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    """The DaemonSet as it is."""

    uid: str = ""
    template: str = ""
    containers: tuple[str, ...] = ()
    released: frozenset[str] = frozenset()
    """Pods, by uid, that lost their gate although the cache may not show it yet."""


def node_of(pod: Pod) -> str:
    """The affinity names the node before the pod is scheduled."""
    return pod.spec.node_name or node_affinity.target(pod.spec.affinity)


def is_eligible(node: Node, settings: PrePullSettings) -> bool:
    """Whether the DaemonSet controller runs a pod there, also if the node is cordoned."""
    labels = node.metadata.labels
    return (
        not node.metadata.deletion_timestamp
        and all(labels.get(key) == value for key, value in settings.node_labels.items())
        and node_affinity.fits(settings.affinity, node.metadata.name, labels)
        and all(_is_tolerated(taint, settings.tolerations) for taint in node.spec.taints)
    )


def _is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    if taint.effect not in _EFFECTS or taint.key in _TOLERATED:
        return True
    return any(
        one.key in ("", taint.key)
        and one.value in ("", taint.value)
        and one.effect in ("", taint.effect)
        for one in tolerations
    )


def is_ready(node: Node) -> bool:
    return _is_true(node, "Ready")


def has_pressure(node: Node) -> bool:
    """A pull would fill the disk further, and the kubelet refuses most pods."""
    return _is_true(node, "DiskPressure")


def _is_true(node: Node, type_: str) -> bool:
    return any(one.type == type_ and one.status is Truth.TRUE for one in node.status.conditions)


def has_failed(pod: Pod | None) -> bool:
    return pod is not None and pod.status.phase == "Failed"


def record(
    node: Node,
    pods: Iterable[Pod],
    expected: ExpectedDaemonSet,
    settings: PrePullSettings,
    *,
    previous: NodeRecord | None,
    now: datetime,
    listed: ImageList | None = None,
) -> NodeRecord | None:
    """None if no pod of the DaemonSet may run there."""
    if not is_eligible(node, settings):
        return None
    own = [one for one in pods if _belongs(one, expected)]
    alive = [one for one in own if not one.metadata.deletion_timestamp]
    current = _newest(one for one in alive if _template(one) == expected.template)
    is_gated = current is not None and _is_gated(current) and not _is_released(current, expected)
    lost = next(filter(None, (_lost(one, listed) for one in alive)), None)
    without_agent_since = _without_agent_since(alive, previous, now)
    grace = settings.periods.agent_grace
    unknown = frozenset[str]()
    if listed and without_agent_since and now - without_agent_since >= grace:
        unknown = frozenset(_unproven(alive, listed))
    held = frozenset(_held(alive, listed)) - unknown
    without_pod_since = (previous and previous.without_pod_since) or now
    found = _faults(None if is_gated else current, expected, held, previous, now)
    if is_gated and has_pressure(node):
        found = _new_faults(dict.fromkeys(expected.containers, _PRESSURE), held, previous, now)
    tried = _tried(own, expected) or (previous.tried if previous else frozenset())
    node_is_ready = is_ready(node)
    return NodeRecord(
        is_ready=node_is_ready,
        held=held,
        unknown=unknown,
        faults=found,
        is_pulling=node_is_ready and not is_gated and _is_pulling(current, expected, found),
        gated=_gated(current, own, expected, previous, tried, node)
        if current and is_gated
        else None,
        lost=lost,
        without_pod_since=None if current else without_pod_since,
        without_agent_since=without_agent_since,
        unready_template=_unready_template(alive, previous),
        tried=tried,
        obstacle=holding.obstacle(node.status.node_info),
    )


def _belongs(pod: Pod, expected: ExpectedDaemonSet) -> bool:
    return any(one.uid == expected.uid for one in pod.metadata.owner_references)


def _template(pod: Pod) -> str:
    return pod.metadata.annotations.get(holder.TEMPLATE_ANNOTATION, "")


def _newest(pods: Iterable[Pod]) -> Pod | None:
    """A pod that failed, for example an evicted one, counts only until it has a successor."""

    def age(one: Pod) -> tuple[bool, str, str]:
        return not has_failed(one), one.metadata.creation_timestamp, one.metadata.name

    return max(pods, key=age, default=None)


def _held(pods: Iterable[Pod], listed: ImageList | None) -> Iterator[str]:
    for pod in pods:
        missing = missing_containers(pod, listed) | _named(pod, FOREIGN_PREFIX)
        held = holder.held(pod)
        for status in pod.status.container_statuses:
            if status.ready and status.name in held and status.name not in missing:
                yield status.name


def missing_containers(pod: Pod, listed: ImageList | None) -> frozenset[str]:
    """As the agent of the node reports it; without an agent, as the kubelet's list proves it."""
    if _is_compared(pod) or listed is None:
        return _named(pod, MISSING_PREFIX)
    return frozenset(_unlisted(pod, listed))


def _is_compared(pod: Pod) -> bool:
    """Whether the agent of the node reported about the pod."""
    return any(one.type == IMAGES_PRESENT for one in pod.status.conditions)


def _named(pod: Pod, prefix: str) -> frozenset[str]:
    """The containers that the agent lists in this part of its message."""
    messages = (one.message for one in pod.status.conditions if one.type == IMAGES_PRESENT)
    parts = (part for message in messages for part in message.split("; "))
    named = (part.removeprefix(prefix) for part in parts if part.startswith(prefix))
    return frozenset(name.strip() for names in named for name in names.split(","))


def _unlisted(pod: Pod, listed: ImageList) -> Iterator[str]:
    for status, names in _listed_names(pod):
        running = status.state.running
        if running is None or not running.started_at or not names:
            continue
        if listed.lacks(names, since=datetime.fromisoformat(running.started_at)):
            yield status.name


def _unproven(pods: Iterable[Pod], listed: ImageList) -> Iterator[str]:
    for pod in pods:
        for status, names in _listed_names(pod):
            if status.ready and not listed.proves(names):
                yield status.name


def _listed_names(pod: Pod) -> Iterator[tuple[ContainerStatus, tuple[str, ...]]]:
    """Each container that holds an image, and the names by which a kubelet lists the image."""
    held = holder.held(pod)
    own = {one.name: one.image for one in pod.spec.containers}
    for status in pod.status.container_statuses:
        if url := held.get(status.name):
            yield status, presence.names(url, status if own[status.name] == url else None)


def _without_agent_since(
    alive: Sequence[Pod], previous: NodeRecord | None, now: datetime
) -> datetime | None:
    ready = [one for one in alive if _is_pod_ready(one)]
    if not ready or any(map(_is_compared, ready)):
        return None
    return (previous and previous.without_agent_since) or now


def _lost(pod: Pod, listed: ImageList | None) -> LostImages | None:
    missing = missing_containers(pod, listed)
    ready = sorted(one.name for one in pod.status.container_statuses if one.ready)
    containers = tuple(name for name in ready if name in missing)
    if not containers:
        return None
    return LostImages(
        pod=pod.metadata.name, uid=pod.metadata.uid, node=node_of(pod), containers=containers
    )


def _faults(
    current: Pod | None,
    expected: ExpectedDaemonSet,
    held: frozenset[str],
    previous: NodeRecord | None,
    now: datetime,
) -> Mapping[str, Fault]:
    if current is None:
        return {}
    of_pod = faults.of_pod(current)
    before = previous.faults if previous else {}
    found: dict[str, Fault] = {}
    if of_pod is not None:
        found = dict.fromkeys(expected.containers, of_pod)
    found |= dict.fromkeys(_named(current, FOREIGN_PREFIX), _FOREIGN)
    for status in current.status.container_statuses:
        fault = faults.of_container(status)
        if fault is not None:
            fault = faults.with_own_image(fault, current, status.name)
        if fault is not None and faults.names_no_cause(status):
            fault = before.get(status.name, fault)
        if fault is not None:
            found[status.name] = fault
    return _new_faults(found, held, previous, now)


def _new_faults(
    found: Mapping[str, Fault],
    held: frozenset[str],
    previous: NodeRecord | None,
    now: datetime,
) -> Mapping[str, Fault]:
    before = previous.faults if previous else {}
    return {
        name: _since(fault, before.get(name), now)
        for name, fault in found.items()
        if name not in held
    }


def _since(fault: Fault, before: Fault | None, now: datetime) -> Fault:
    since = before.since if before and before.why is fault.why else now
    return Fault(why=fault.why, message=fault.message, since=since)


def _is_gated(pod: Pod) -> bool:
    return any(one.name == holder.SCHEDULING_GATE for one in pod.spec.scheduling_gates)


def _is_released(pod: Pod, expected: ExpectedDaemonSet) -> bool:
    return pod.metadata.uid in expected.released


def _is_pulling(
    current: Pod | None, expected: ExpectedDaemonSet, found: Mapping[str, Fault]
) -> bool:
    """While one of its containers is neither ready nor at fault."""
    if current is None:
        return False
    ready = {one.name for one in current.status.container_statuses if one.ready}
    return any(name not in ready and name not in found for name in expected.containers)


def _tried(own: Iterable[Pod], expected: ExpectedDaemonSet) -> frozenset[str]:
    started = (pod for pod in own if not _is_gated(pod) or _is_released(pod, expected))
    return frozenset(one.name for pod in started for one in pod.spec.containers)


def _gated(
    current: Pod,
    own: Sequence[Pod],
    expected: ExpectedDaemonSet,
    previous: NodeRecord | None,
    tried: frozenset[str],
    node: Node,
) -> GatedPod:
    others = [one for one in own if _template(one) != _template(current)]
    unready = previous.unready_template if previous else ""
    was_unready = unready not in ("", _template(current))
    replaces = not any(map(_is_pod_ready, others)) if others else was_unready
    return GatedPod(
        name=current.metadata.name,
        uid=current.metadata.uid,
        node=node_of(current),
        is_replacement=replaces,
        adds_images=not tried.issuperset(expected.containers),
        has_pressure=has_pressure(node),
    )


def _is_pod_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status is Truth.TRUE for one in pod.status.conditions)


def _unready_template(alive: Sequence[Pod], previous: NodeRecord | None) -> str:
    if not alive:
        return previous.unready_template if previous else ""
    if any(map(_is_pod_ready, alive)):
        return ""
    started = [one for one in alive if not _is_gated(one)]
    if started:
        return _template(started[-1])
    return previous.unready_template if previous else ""


def is_fault(fault: Fault, now: datetime, grace: timedelta) -> bool:
    """An unavailable registry is a fault only after the grace."""
    if fault.why is not ImageReason.REGISTRY_UNAVAILABLE or fault.since is None:
        return True
    return now - fault.since >= grace
