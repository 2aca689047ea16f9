"""Whether the runtime still has the images of the holder pods of its node. Pure.

A container stays ready when the image that it holds is removed.
"""

from collections.abc import Hashable
from datetime import datetime

import msgspec

from lading.api.core import Pod, PodCondition
from lading.kernel.conditions import Truth
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.prepull import holder
from lading.prepull.nodes import FOREIGN_PREFIX, MISSING_PREFIX
from lading.prepull.types import IMAGES_PRESENT, PresenceReason


class ObservedHolders(msgspec.Struct, frozen=True, kw_only=True):
    pods: tuple[Pod, ...]
    present: frozenset[str]
    """The URLs of the images that the runtime has."""
    foreign: frozenset[str] = frozenset()
    """Those of them with another platform in their configuration than that of the node."""


class WritePresence(msgspec.Struct, frozen=True, kw_only=True):
    """Sets condition ImagesPresent of a pod."""

    key: Key
    uid: str
    status: Truth
    reason: PresenceReason
    message: str
    now: datetime
    because: str

    @property
    def lane(self) -> Hashable:
        return self.key


def plan(observed: ObservedHolders, now: datetime, *, recheck_at: datetime) -> Plan:
    actions = (_write(pod, observed, now) for pod in observed.pods)
    return Plan(actions=tuple(filter(None, actions)), recheck_at=recheck_at)


def ready_urls(pod: Pod) -> dict[str, str]:
    """The images that must be on the node, by container."""
    held = holder.held(pod)
    ready = {one.name for one in pod.status.container_statuses if one.ready}
    return {name: url for name, url in held.items() if name in ready}


def _write(pod: Pod, observed: ObservedHolders, now: datetime) -> WritePresence | None:
    checked = ready_urls(pod)
    if not checked or pod.metadata.deletion_timestamp:
        return None
    missing = sorted(name for name, url in checked.items() if url not in observed.present)
    foreign = sorted(name for name, url in checked.items() if url in observed.foreign)
    status = Truth.FALSE if missing or foreign else Truth.TRUE
    listed = {MISSING_PREFIX: missing, FOREIGN_PREFIX: foreign}
    message = "; ".join(prefix + ",".join(names) for prefix, names in listed.items() if names)
    if any(_is_same(one, status, message) for one in pod.status.conditions):
        return None
    return WritePresence(
        key=pod.key,
        uid=pod.metadata.uid,
        status=status,
        reason=_reason(missing, foreign),
        message=message,
        now=now,
        because=message or "every image of the pod is on the node",
    )


def _reason(missing: list[str], foreign: list[str]) -> PresenceReason:
    if missing:
        return PresenceReason.MISSING
    return PresenceReason.WRONG_PLATFORM if foreign else PresenceReason.PRESENT


def _is_same(condition: PodCondition, status: Truth, message: str) -> bool:
    found = (condition.type, condition.status, condition.message)
    return found == (IMAGES_PRESENT, status, message)
