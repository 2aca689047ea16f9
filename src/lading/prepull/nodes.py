"""The images that one worker node holds and its faults, from its Node and its pods. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from lading.api.core import Node, Pod, Taint
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

MISSING_PREFIX = "missing: "
"""Begins the message of condition ImagesPresent; the names of the containers follow."""


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
    return any(one.type == "Ready" and one.status is Truth.TRUE for one in node.status.conditions)


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
    held = frozenset(_held(alive, listed))
    without_pod_since = (previous and previous.without_pod_since) or now
    found = {} if is_gated else _faults(current, expected, held, previous, now)
    node_is_ready = is_ready(node)
    return NodeRecord(
        is_ready=node_is_ready,
        held=held,
        faults=found,
        is_pulling=node_is_ready and not is_gated and _is_pulling(current, expected, found),
        gated=_gated(current, own, previous) if current and is_gated else None,
        lost=lost,
        without_pod_since=None if current else without_pod_since,
        without_agent_since=_without_agent_since(alive, previous, now),
        unready_template=_unready_template(alive, previous),
        obstacle=holding.obstacle(node.status.node_info),
    )


def _belongs(pod: Pod, expected: ExpectedDaemonSet) -> bool:
    return any(one.uid == expected.uid for one in pod.metadata.owner_references)


def _template(pod: Pod) -> str:
    return pod.metadata.annotations.get(holder.TEMPLATE_ANNOTATION, "")


def _newest(pods: Iterable[Pod]) -> Pod | None:
    """A pod that failed, for example an evicted one, counts only until it has a successor."""

    def age(one: Pod) -> tuple[bool, str, str]:
        has_not_failed = one.status.phase != "Failed"
        return has_not_failed, one.metadata.creation_timestamp, one.metadata.name

    return max(pods, key=age, default=None)


def _held(pods: Iterable[Pod], listed: ImageList | None) -> Iterator[str]:
    for pod in pods:
        missing = missing_containers(pod, listed)
        held = holder.held(pod)
        for status in pod.status.container_statuses:
            if status.ready and status.name in held and status.name not in missing:
                yield status.name


def missing_containers(pod: Pod, listed: ImageList | None) -> frozenset[str]:
    """As the agent of the node reports it; without an agent, as the kubelet's list proves it."""
    for one in pod.status.conditions:
        if one.type == IMAGES_PRESENT:
            if one.status is Truth.TRUE:
                return frozenset()
            found = one.message.removeprefix(MISSING_PREFIX).split(",")
            return frozenset(name.strip() for name in found)
    return frozenset(_unlisted(pod, listed)) if listed is not None else frozenset()


def _unlisted(pod: Pod, listed: ImageList) -> Iterator[str]:
    held = holder.held(pod)
    own = {one.name: one.image for one in pod.spec.containers}
    for status in pod.status.container_statuses:
        running = status.state.running
        if running is None or not running.started_at or status.name not in held:
            continue
        since = datetime.fromisoformat(running.started_at)
        url = held[status.name]
        names = presence.names(url, status if own[status.name] == url else None)
        if names and listed.lacks(names, since=since):
            yield status.name


def _without_agent_since(
    alive: Sequence[Pod], previous: NodeRecord | None, now: datetime
) -> datetime | None:
    ready = [one for one in alive if _is_pod_ready(one)]
    compared = any(one.type == IMAGES_PRESENT for pod in ready for one in pod.status.conditions)
    if not ready or compared:
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
    for status in current.status.container_statuses:
        fault = faults.of_container(status)
        if fault is not None:
            fault = faults.with_own_image(fault, current, status.name)
        if fault is not None and faults.names_no_cause(status):
            fault = before.get(status.name, fault)
        if fault is not None:
            found[status.name] = fault
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


def _gated(current: Pod, own: Sequence[Pod], previous: NodeRecord | None) -> GatedPod:
    """A pod that is not ready is deleted before its successor runs: that one must not wait."""
    others = [one for one in own if _template(one) != _template(current)]
    unready = previous.unready_template if previous else ""
    was_unready = unready not in ("", _template(current))
    replaces = not any(map(_is_pod_ready, others)) if others else was_unready
    return GatedPod(
        name=current.metadata.name,
        uid=current.metadata.uid,
        node=node_of(current),
        is_replacement=replaces,
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
