"""Whether the runtime still has the images of the holder pods of its node. Pure.

A container stays ready when its image is removed. An image is there when the runtime lists it
under the name of the container's image, or under the ID that the kubelet reports.
"""

from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime

import msgspec

from lading.api.core import Pod, PodCondition
from lading.kernel.conditions import Truth
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.ports.cri import Image
from lading.prepull import holder, presence
from lading.prepull.nodes import MISSING_PREFIX
from lading.prepull.types import IMAGES_PRESENT, PresenceReason


class ObservedHolders(msgspec.Struct, frozen=True, kw_only=True):
    pods: tuple[Pod, ...]
    images: tuple[Image, ...]


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
    known = frozenset(_names(observed.images))
    actions = (_write(pod, known, now) for pod in observed.pods)
    return Plan(actions=tuple(filter(None, actions)), recheck_at=recheck_at)


def _write(pod: Pod, known: frozenset[str], now: datetime) -> WritePresence | None:
    checked = [one for one in pod.status.container_statuses if _is_checked(one.name, one.ready)]
    if not checked or pod.metadata.deletion_timestamp:
        return None
    images = {one.name: one.image for one in pod.spec.containers}
    missing = sorted(
        one.name
        for one in checked
        if not _is_there(images.get(one.name) or one.image, one.image_id, known)
    )
    status = Truth.FALSE if missing else Truth.TRUE
    message = MISSING_PREFIX + ",".join(missing) if missing else ""
    if any(_is_same(one, status, message) for one in pod.status.conditions):
        return None
    return WritePresence(
        key=pod.key,
        uid=pod.metadata.uid,
        status=status,
        reason=PresenceReason.MISSING if missing else PresenceReason.PRESENT,
        message=message,
        now=now,
        because=message or "every image of the pod is on the node",
    )


def _is_checked(name: str, ready: bool) -> bool:
    return ready and name.startswith(holder.CONTAINER_PREFIX)


def _is_same(condition: PodCondition, status: Truth, message: str) -> bool:
    found = (condition.type, condition.status, condition.message)
    return found == (IMAGES_PRESENT, status, message)


def _names(images: Iterable[Image]) -> Iterator[str]:
    for one in images:
        if one.runtime_handler:
            continue  # of the guests of another runtime; holder pods run on the node's own
        yield one.id
        yield from one.repo_tags
        for name in one.repo_digests:
            yield name
            yield name.rpartition("@")[2]


def _is_there(url: str, image_id: str, known: frozenset[str]) -> bool:
    if image_id and (image_id in known or image_id.rpartition("@")[2] in known):
        return True
    return presence.name_in_runtime(url) in known
