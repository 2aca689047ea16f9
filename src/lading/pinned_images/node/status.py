"""The status of a MachineConfigNode, and the events about its changes. Pure.

The last good generation and the last error survive a retry.
"""

from collections.abc import Iterable
from datetime import datetime

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.kernel import conditions, planning, texts
from lading.kernel.conditions import Condition, Truth
from lading.kernel.pacing import Change
from lading.kernel.planning import RecordEvent
from lading.kernel.values import replace
from lading.pinned_images import claims
from lading.pinned_images.node import rules, verdicts
from lading.pinned_images.node.types import (
    Desired,
    ObservedNodeImages,
    ReportedProblems,
    SetVerdict,
    WriteStatus,
)
from lading.pinned_images.reasons import ConditionType, EventReason, Reason
from lading.pinned_images.types import SetState

PROGRESSING = ConditionType.SETS_PROGRESSING
DEGRADED = ConditionType.SETS_DEGRADED
ERROR_BYTES_MAX = 1024


def status_to_write(
    desired: Desired, found: tuple[SetVerdict, ...], observed: ObservedNodeImages, now: datetime
) -> tuple[WriteStatus, ...]:
    new = status(desired, found, observed, now)
    is_same = _without_counts(new) == _without_counts(observed.last_status)
    if is_same or not observed.status_is_wanted:
        return ()
    change = _change(observed.last_status, new)
    if _due_at(desired, observed, change, now) > now:
        return ()
    is_progress = change is Change.PROGRESS
    because = "progress is reported at intervals" if is_progress else "a set's state changed"
    problems = {one.desired.name: frozenset(p.id for p in one.problems) for one in found}
    return (WriteStatus(status=new, problems=problems, because=because),)


def next_write_at(desired: Desired, observed: ObservedNodeImages, now: datetime) -> datetime | None:
    """When a status that waits may be written; None if it need not wait."""
    dues = (_due_at(desired, observed, change, now) for change in Change)
    return planning.earliest(*(due for due in dues if due > now))


def _due_at(
    desired: Desired, observed: ObservedNodeImages, change: Change, now: datetime
) -> datetime:
    pacing, last = desired.settings.status_pacing, observed.history.status_at
    return pacing.due_at(last, change, nodes=1, now=now)


def _change(last: MachineConfigNodeStatus, new: MachineConfigNodeStatus) -> Change:
    after = {entry.name: entry for entry in new.pinned_image_sets}
    is_lost = any(
        found is None or (found.uid, found.current_generation) != (one.uid, one.current_generation)
        for one in last.pinned_image_sets
        if one.current_generation
        for found in (after.get(one.name),)
    )
    if is_lost or conditions.withdrawn(last.conditions, new.conditions):
        return Change.WITHDRAWAL
    return Change.PROGRESS if _state(last) == _state(new) else Change.NEWS


def status(
    desired: Desired, found: tuple[SetVerdict, ...], observed: ObservedNodeImages, now: datetime
) -> MachineConfigNodeStatus:
    last = observed.last_status
    new = (_progressing(found, observed), _degraded(found, observed))
    conditions_ = conditions.with_conditions(
        last.conditions, new, generation=desired.generation, now=now
    )
    return replace(
        last,
        observed_generation=desired.generation,
        conditions=conditions_,
        pinned_image_sets=_entries(found, observed),
    )


def _entries(
    found: tuple[SetVerdict, ...], observed: ObservedNodeImages
) -> tuple[NodePinnedImageSet, ...]:
    """By name: all sets that are done, and as many others as the status has room for."""
    last = {entry.name: entry for entry in observed.last_status.pinned_image_sets}
    entries = [
        _withdrawn(entry) if rules.pins_left_by_gate(verdict.desired, observed) else entry
        for verdict in found
        for entry in (_entry(verdict, last.get(verdict.desired.name)),)
    ]
    done = [entry for entry in entries if claims.is_done(entry)]
    others = [
        *(entry for entry in entries if not claims.is_done(entry)),
        *(_withdrawn(last[name]) for name in sets_still_reported(found, observed) if name in last),
    ]
    listed = (*done, *others[: group.SETS_PER_NODE_MAX])
    return tuple(sorted(listed, key=lambda entry: entry.name))


def sets_still_reported(found: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> list[str]:
    """Sets that the node no longer has. They stay in the status while a pin of theirs is left."""
    held = (*observed.pins, *observed.released_pins)
    owners = {owner for recorded in held for owner in recorded.pin.owners}
    return sorted(owners - {verdict.desired.name for verdict in found})


def _withdrawn(entry: NodePinnedImageSet) -> NodePinnedImageSet:
    """Listed, but not claimed: the pool may get the set again before the pins are gone."""
    return replace(entry, current_generation=0)


def _entry(verdict: SetVerdict, last: NodePinnedImageSet | None) -> NodePinnedImageSet:
    name, uid, generation = (
        verdict.desired.name,
        verdict.desired.uid,
        verdict.desired.generation,
    )
    if last is None or last.uid != uid or last.desired_generation > generation:
        last = NodePinnedImageSet(name=name, uid=uid)  # new here, or deleted and made again
    count = len(verdict.desired.images)
    if verdict.state is SetState.PINNED:
        return NodePinnedImageSet(
            name=name,
            uid=uid,
            current_generation=generation,
            desired_generation=generation,
            image_count=count,
            present_image_count=count,
        )
    entry = replace(
        last,
        desired_generation=generation,
        image_count=count,
        present_image_count=count - len(verdict.missing),
        missing_bytes=verdict.missing_bytes or 0,
        pulling_image_count=verdict.activity.pulling,
        pull_attempt=verdict.activity.attempt,
        next_pull_time=conditions.timestamp(at) if (at := verdict.activity.next_try_at) else "",
    )
    if entry.current_generation == generation:  # something was lost
        entry = replace(entry, current_generation=0)
    if verdict.state is SetState.FAILED:
        errors = [
            texts.bounded_text(problem.message, bytes_max=ERROR_BYTES_MAX)
            for problem in verdict.problems
        ]
        entry = replace(
            entry,
            last_failed_generation=generation,
            last_failed_generation_errors=tuple(errors[: group.ERRORS_PER_SET_MAX]),
        )
    return entry


def _progressing(found: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> Condition:
    why = observed.disk_unchecked if found else ""
    unchecked = f"; the free space is not checked: {why}" if why else ""
    if all(verdict.state is SetState.PINNED for verdict in found):
        message = f"All pinned image sets complete{unchecked}"
        return _condition(PROGRESSING, Truth.FALSE, Reason.AS_EXPECTED, message)
    doing = verdicts.combined(verdict.activity for verdict in found)
    counts = verdicts.counts((verdict.desired for verdict in found), observed, doing)
    return _condition(PROGRESSING, Truth.TRUE, Reason.PREFETCHING, f"{counts}{unchecked}")


def _degraded(found: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> Condition:
    failed = [verdict for verdict in found if verdict.state is SetState.FAILED]
    if failed:
        problems = [(one.desired.name, problem) for one in failed for problem in one.problems]
        name, worst = min(problems, key=lambda named: _severity(named[1].reason))
        more = len(problems) - 1
        also = f" (and {more} more, see pinnedImageSets)" if more else ""
        return _condition(DEGRADED, Truth.TRUE, worst.reason, f"set {name}: {worst.message}{also}")
    if observed.history.pins_error and (names := sets_still_reported(found, observed)):
        message = f"set {names[0]} is gone, but unpinning failed: {observed.history.pins_error}"
        return _condition(DEGRADED, Truth.TRUE, Reason.PINNING_FAILED, message)
    if observed.pins_ignored and found:
        return _condition(DEGRADED, Truth.TRUE, Reason.PINS_IGNORED, observed.pins_ignored)
    return _condition(DEGRADED, Truth.FALSE, Reason.AS_EXPECTED, "No errors")


def _severity(reason: Reason) -> int:
    """NoSpace comes first: it degrades the pool, with this message."""
    return 0 if reason is Reason.NO_SPACE else 1


def _condition(type_: str, status: Truth, reason: Reason, message: str) -> Condition:
    return Condition(type=type_, status=status, reason=reason, message=message)


def _state(status: MachineConfigNodeStatus) -> MachineConfigNodeStatus:
    """Without messages and counts, which change with every pull."""
    return replace(
        _without_counts(status),
        conditions=tuple(replace(one, message="") for one in status.conditions),
        pinned_image_sets=tuple(
            replace(one, last_failed_generation_errors=())
            for one in _without_counts(status).pinned_image_sets
        ),
    )


def _without_counts(status: MachineConfigNodeStatus) -> MachineConfigNodeStatus:
    """Without counts. The message has them too, and the CRD of another owner may drop them."""
    return replace(
        status,
        pinned_image_sets=tuple(
            replace(
                one,
                image_count=0,
                present_image_count=0,
                missing_bytes=0,
                pulling_image_count=0,
                pull_attempt=0,
                next_pull_time="",
            )
            for one in status.pinned_image_sets
        ),
    )


def events(
    found: Iterable[SetVerdict], observed: ObservedNodeImages, after: MachineConfigNodeStatus
) -> Iterable[RecordEvent]:
    """One event if a set becomes pinned, fails in a new way, or has no pin left."""
    last = {entry.name: entry for entry in observed.last_status.pinned_image_sets}
    new = {entry.name: entry for entry in after.pinned_image_sets}
    by_name = {verdict.desired.name: verdict for verdict in found}
    for name in sorted(new.keys() & by_name.keys()):
        before = last.get(name, NodePinnedImageSet(name=name))
        yield from _events_of_set(by_name[name], before, new[name], observed.history.problems)
    for name in sorted(last.keys() - new.keys() - by_name.keys()):
        because = f"set {name}: it no longer applies to this node, and its pins are removed"
        yield RecordEvent(reason=EventReason.UNPINNED, because=because)


def _events_of_set(
    verdict: SetVerdict,
    last: NodePinnedImageSet,
    new: NodePinnedImageSet,
    reported: ReportedProblems | None,
) -> Iterable[RecordEvent]:
    generation = new.desired_generation
    if new.current_generation == generation != last.current_generation:
        count = len(verdict.desired.images)
        because = f"set {new.name}: generation {generation}: {count} images are pinned"
        yield RecordEvent(reason=EventReason.PINNED, because=because)
    if verdict.problems and _fails_in_a_new_way(verdict, last, reported):
        problem = verdict.problems[0]
        because = f"set {new.name}: {problem.message}"
        yield RecordEvent(reason=problem.reason, because=because, warning=True)


def _fails_in_a_new_way(
    verdict: SetVerdict, last: NodePinnedImageSet, reported: ReportedProblems | None
) -> bool:
    """After a restart, a failure in the last status counts as recorded."""
    if last.last_failed_generation != verdict.desired.generation:
        return True
    if reported is None:
        return False
    problems = frozenset(problem.id for problem in verdict.problems)
    return reported.get(verdict.desired.name, frozenset()) != problems
