"""The policy of a node, read top-down: what to resolve, pull, pin and report.

Every set gets its own verdict and none stops another. Pins are written for complete sets, and for
what an incomplete set had pinned before; nothing is pinned that is not on the node.
"""

from collections.abc import Iterable
from datetime import datetime

from lading.kernel import planning
from lading.kernel.planning import Action, Plan
from lading.kernel.values import replace
from lading.pinned_images.node import activity, admission, events, report, rules, schedule
from lading.pinned_images.node.types import (
    Desired,
    ObservedNodeImages,
    Problem,
    ResolveImages,
    SetVerdict,
    WritePins,
)
from lading.pinned_images.progress import SetState
from lading.ports.cri import Pin


def plan(desired: Desired, observed: ObservedNodeImages, now: datetime) -> Plan:
    admitted, refusals = admission.admit_by_storage(desired, observed)
    found = verdicts(desired, observed, refusals, now)
    pulls = schedule.pull_schedule(desired, admitted, observed, now)
    pins = pins_to_write(found, observed)
    status = report.status_to_write(desired, found, observed, now)
    return Plan(
        actions=(
            *images_to_resolve(desired, observed, now),
            *pulls,
            *pins,
            *status,
            *(event for write in status for event in events.events(found, observed, write.status)),
        ),
        recheck_at=planning.earliest(
            read_back_at(desired, observed, now) if pins else None,
            recheck_at(desired, found, observed, now, status_is_written=bool(status)),
        ),
    )


def verdicts(
    desired: Desired, observed: ObservedNodeImages, refusals: dict[str, Problem], now: datetime
) -> tuple[SetVerdict, ...]:
    is_complete = all(key in observed.images for one in desired.sets for key in one.images)
    here = frozenset() if is_complete else rules.layers_present(observed)
    found = (rules.verdict(one, desired, observed, refusals, here=here) for one in desired.sets)
    return tuple(
        replace(one, activity=activity.activity(one.missing, desired, observed, now))
        for one in found
    )


def images_to_resolve(
    desired: Desired, observed: ObservedNodeImages, now: datetime
) -> tuple[ResolveImages, ...]:
    wanted = {key for image_set in desired.sets for key in image_set.images}
    unknown = tuple(
        sorted(key for key in wanted if rules.resolution_is_wanted(key, desired, observed, now))
    )
    if not unknown:
        return ()
    return (ResolveImages(keys=unknown, because="their size on this node is not known"),)


def pins_to_write(
    verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages
) -> tuple[Action, ...]:
    """The pins of complete sets and the earlier ones of others; nothing if in force."""
    references: dict[str, str] = {}
    owners: dict[str, set[str]] = {}
    held = [
        *((verdict.desired.name, _pins_of(verdict, observed)) for verdict in verdicts),
        *((name, _recorded_pins(name, observed)) for name in _still_claimed(verdicts, observed)),
    ]
    for name, pins in held:
        for image_id, reference in pins:
            references[image_id] = min(reference, references.get(image_id, reference))
            owners.setdefault(image_id, set()).add(name)
    wanted = tuple(
        Pin(image=references[image_id], image_id=image_id, owners=tuple(sorted(names)))
        for image_id, names in sorted(owners.items())
    )
    if observed.cannot_pin or _in_force(wanted, observed):
        return ()
    return (WritePins(pins=wanted, because=_why_pins_change(wanted, observed)),)


def _pins_of(verdict: SetVerdict, observed: ObservedNodeImages) -> Iterable[tuple[str, str]]:
    if verdict.state is SetState.PINNED or (verdict.is_complete and observed.node_is_well):
        for key in verdict.desired.images:
            present = observed.images[key]
            yield present.image_id, present.reference
        return
    name = verdict.desired.name
    released = frozenset[str]()
    if not observed.status_is_wanted or name not in _claimed(observed):  # the report goes first
        released = rules.pins_left_by_gate(verdict.desired, observed)
    for image_id, reference in _recorded_pins(name, observed):
        if image_id not in released:
            yield image_id, reference


def _recorded_pins(set_name: str, observed: ObservedNodeImages) -> Iterable[tuple[str, str]]:
    for recorded in observed.pins:
        if set_name in recorded.pin.owners and recorded.pin.image_id in observed.image_ids:
            yield recorded.pin.image_id, recorded.pin.image


def _still_claimed(verdicts: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> Iterable[str]:
    """Sets that the node no longer has and still reports as pinned: the report goes first."""
    if not observed.status_is_wanted:
        return ()
    claimed = _claimed(observed)
    return (name for name in report.lingering(verdicts, observed) if name in claimed)


def _claimed(observed: ObservedNodeImages) -> set[str]:
    return {one.name for one in observed.last_status.pinned_image_sets if one.current_generation}


def _in_force(wanted: tuple[Pin, ...], observed: ObservedNodeImages) -> bool:
    effective = {
        recorded.pin.image_id: recorded.pin.owners
        for recorded in observed.pins
        if recorded.effective
    }
    if observed.released_pins or observed.pins_outdated:
        return False
    return len(effective) == len(observed.pins) and effective == {
        pin.image_id: pin.owners for pin in wanted
    }


def _why_pins_change(wanted: tuple[Pin, ...], observed: ObservedNodeImages) -> str:
    held = (*observed.pins, *observed.released_pins)
    before = {recorded.pin.image_id for recorded in held if recorded.effective}
    after = {pin.image_id for pin in wanted}
    kept = len(before & after)
    return f"{len(after - before)} to pin, {len(before - after)} to unpin, {kept} to keep"


def read_back_at(desired: Desired, observed: ObservedNodeImages, now: datetime) -> datetime:
    """Soon after pins were written; later when they were written just before and not taken."""
    settings, before = desired.settings, observed.pins_written_at
    again = before is not None and planning.due(before, settings.pins_interval, now=now) > now
    return now + (settings.pins_interval if again else settings.read_back_after)


def recheck_at(
    desired: Desired,
    verdicts: tuple[SetVerdict, ...],
    observed: ObservedNodeImages,
    now: datetime,
    *,
    status_is_written: bool,
) -> datetime | None:
    """After the resync period at the latest: what was removed by hand is noticed then."""
    wanted = {key for image_set in desired.sets for key in image_set.images}
    retries = (rules.retry_at(key, pull, desired, now) for key, pull in observed.pulls.items())
    resolves = (
        rules.resolve_again_at(key, desired, observed, now)
        for key in wanted & observed.unresolved.keys()
    )
    removed = (
        rules.removed_image_pulled_at(key, desired, observed, now)
        for key in wanted & observed.past_pulls.keys()
    )
    stalls = (rules.stalls_at(pull, desired, now) for pull in observed.pulls.values())
    starts = (
        rules.starts_at(verdict.desired, desired, now)
        for verdict in verdicts
        if verdict.state is not SetState.PINNED
    )
    due = planning.earliest(
        *(
            instant
            for instant in (*retries, *resolves, *removed, *stalls, *starts)
            if instant is not None and instant > now
        )
    )
    report_due = None if status_is_written else report.next_write_at(desired, observed, now)
    credentials_due = rules.credentials_seen_at(desired, observed, now)
    round_end = now + desired.settings.resync_period
    return planning.earliest(round_end, due, report_due, credentials_due)
