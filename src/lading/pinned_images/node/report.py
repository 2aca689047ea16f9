"""What a node reports in the status of its MachineConfigNode. Pure.

The last good generation and the last error survive a retry; a time-out is progress, not failure.
"""

from datetime import datetime

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.kernel import conditions, planning, texts
from lading.kernel.conditions import Condition, Truth
from lading.kernel.values import replace
from lading.pinned_images import claims
from lading.pinned_images.node import activity, rules
from lading.pinned_images.node.types import (
    Desired,
    ObservedNodeImages,
    SetVerdict,
    WriteStatus,
)
from lading.pinned_images.progress import SetState
from lading.pinned_images.reasons import ConditionType, Reason

PROGRESSING = ConditionType.SETS_PROGRESSING
DEGRADED = ConditionType.SETS_DEGRADED
ERROR_BYTES_MAX = 1024


def status_to_write(
    desired: Desired, verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages, now: datetime
) -> tuple[WriteStatus, ...]:
    new = status(desired, verdicts, observed, now)
    is_same = _without_counts(new) == _without_counts(observed.last_status)
    if is_same or not observed.status_is_wanted:
        return ()
    is_progress = _state(new) == _state(observed.last_status)
    if _due_at(desired, observed, now, state_changed=not is_progress) > now:
        return ()
    because = "progress is reported at intervals" if is_progress else "a set's state changed"
    problems = {one.desired.name: frozenset(p.id for p in one.problems) for one in verdicts}
    return (WriteStatus(status=new, problems=problems, because=because),)


def next_write_at(desired: Desired, observed: ObservedNodeImages, now: datetime) -> datetime | None:
    """When what is held back may be written; None when nothing holds it back."""
    dues = (_due_at(desired, observed, now, state_changed=state) for state in (False, True))
    return planning.earliest(*(due for due in dues if due > now))


def _due_at(
    desired: Desired, observed: ObservedNodeImages, now: datetime, *, state_changed: bool
) -> datetime:
    pacing = desired.settings.status_pacing
    return pacing.due_at(observed.status_writes, state_changed=state_changed, now=now)


def status(
    desired: Desired, verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages, now: datetime
) -> MachineConfigNodeStatus:
    last = observed.last_status
    new = (_progressing(verdicts, observed), _degraded(verdicts, observed))
    found = conditions.with_conditions(last.conditions, new, generation=desired.generation, now=now)
    return replace(
        last,
        observed_generation=desired.generation,
        conditions=found,
        pinned_image_sets=_entries(verdicts, observed),
    )


def _entries(
    verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages
) -> tuple[NodePinnedImageSet, ...]:
    """By name: all that are done, and of the others as many as the status has room for."""
    last = {entry.name: entry for entry in observed.last_status.pinned_image_sets}
    entries = [
        _withdrawn(entry) if rules.pins_left_by_gate(verdict.desired, observed) else entry
        for verdict in verdicts
        for entry in (_entry(verdict, last.get(verdict.desired.name)),)
    ]
    done = [entry for entry in entries if claims.is_done(entry)]
    others = [
        *(entry for entry in entries if not claims.is_done(entry)),
        *(_withdrawn(last[name]) for name in lingering(verdicts, observed) if name in last),
    ]
    listed = (*done, *others[: group.SETS_PER_NODE_MAX])
    return tuple(sorted(listed, key=lambda entry: entry.name))


def lingering(verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> list[str]:
    """Sets that the node no longer has, reported as long as a pin of theirs is left."""
    held = (*observed.pins, *observed.released_pins)
    owners = {owner for recorded in held for owner in recorded.pin.owners}
    return sorted(owners - {verdict.desired.name for verdict in verdicts})


def _withdrawn(entry: NodePinnedImageSet) -> NodePinnedImageSet:
    """Still listed, no longer claimed: the pool may list the set again before the pins are gone."""
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


def _progressing(verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> Condition:
    why = observed.disk_unchecked if verdicts else ""
    unchecked = f"; the free space is not checked: {why}" if why else ""
    if all(verdict.state is SetState.PINNED for verdict in verdicts):
        message = f"All pinned image sets complete{unchecked}"
        return _condition(PROGRESSING, Truth.FALSE, Reason.AS_EXPECTED, message)
    doing = activity.combined(verdict.activity for verdict in verdicts)
    counts = rules.counts((verdict.desired for verdict in verdicts), observed, doing)
    return _condition(PROGRESSING, Truth.TRUE, Reason.PREFETCHING, f"{counts}{unchecked}")


def _degraded(verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> Condition:
    failed = [verdict for verdict in verdicts if verdict.state is SetState.FAILED]
    if failed:
        problems = [(one.desired.name, problem) for one in failed for problem in one.problems]
        name, worst = min(problems, key=lambda named: _severity(named[1].reason))
        more = len(problems) - 1
        also = f" (and {more} more, see pinnedImageSets)" if more else ""
        return _condition(DEGRADED, Truth.TRUE, worst.reason, f"set {name}: {worst.message}{also}")
    if observed.pins_error and (names := lingering(verdicts, observed)):
        message = f"set {names[0]} is gone, but unpinning failed: {observed.pins_error}"
        return _condition(DEGRADED, Truth.TRUE, Reason.PINNING_FAILED, message)
    if observed.pins_ignored and verdicts:
        return _condition(DEGRADED, Truth.TRUE, Reason.PINS_IGNORED, observed.pins_ignored)
    return _condition(DEGRADED, Truth.FALSE, Reason.AS_EXPECTED, "No errors")


def _severity(reason: Reason) -> int:
    """No space comes first: it is what degrades the pool, with this very message."""
    return 0 if reason is Reason.NO_SPACE else 1


def _condition(type_: str, status: Truth, reason: Reason, message: str) -> Condition:
    return Condition(type=type_, status=status, reason=reason, message=message)


def _state(status: MachineConfigNodeStatus) -> MachineConfigNodeStatus:
    """The status without its wording, which changes at every pull and with every free byte."""
    return replace(
        _without_counts(status),
        conditions=tuple(replace(one, message="") for one in status.conditions),
        pinned_image_sets=tuple(
            replace(one, last_failed_generation_errors=())
            for one in _without_counts(status).pinned_image_sets
        ),
    )


def _without_counts(status: MachineConfigNodeStatus) -> MachineConfigNodeStatus:
    """The counts follow the message. A definition of another owner may drop them."""
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
