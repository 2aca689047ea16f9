"""Whether PinnedImageSets are ready, failed or neither yet, from their own conditions.

A condition counts only when it is about the newest generation of the set.
"""

from collections.abc import Iterable, Mapping

import msgspec

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.cli import output
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images.reasons import ConditionType, Reason

_NEVER_READY = (Reason.NO_NODES, Reason.GATE_OFF)
"""A retry does not help: a person must change something first."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    ready: tuple[str, ...]
    failed: tuple[str, ...]
    """A sentence for each reason."""
    pending: tuple[str, ...]
    """A sentence for each set."""


def readiness(sets: Mapping[str, PinnedImageSet], names: Iterable[str]) -> Readiness:
    ready: list[str] = []
    failed: list[str] = []
    pending: list[str] = []
    for name in names:
        image_set = sets.get(name)
        if image_set is None or image_set.metadata.deletion_timestamp:
            failed.append(f"{name}: there is no PinnedImageSet of this name")
            continue
        condition = _current(image_set, ConditionType.READY)
        if condition is not None and condition.status is Truth.TRUE:
            ready.append(name)
        elif problems := _problems(image_set, condition):
            failed += (f"{name}: {problem}" for problem in problems)
        else:
            pending.append(f"{name}: {_waiting_for(condition)}")
    return Readiness(ready=tuple(ready), failed=tuple(failed), pending=tuple(pending))


def _current(image_set: PinnedImageSet, type_: ConditionType) -> Condition | None:
    found = conditions.find(image_set.status.conditions, type_)
    is_current = found and found.observed_generation == image_set.metadata.generation
    return found if is_current else None


def _problems(image_set: PinnedImageSet, ready: Condition | None) -> tuple[str, ...]:
    degraded = _current(image_set, ConditionType.DEGRADED)
    if degraded is not None and degraded.status is Truth.TRUE:
        nodes_with: dict[str, list[str]] = {}
        for one in image_set.status.failures:
            nodes_with.setdefault(one.message, []).append(one.node)
        named = (f"{output.names(nodes)}: {text}" for text, nodes in nodes_with.items())
        return tuple(named) or (degraded.message,)
    if ready is not None and ready.reason in _NEVER_READY:
        return (ready.message,)
    return ()


def _waiting_for(ready: Condition | None) -> str:
    if ready is None:
        return "the controller has not observed the newest generation yet"
    return ready.message
