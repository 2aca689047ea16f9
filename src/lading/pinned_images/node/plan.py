"""The policy of a node, read top-down: what to resolve, pull, pin and report.

Every set gets its own verdict, and a failed set does not stop the others. A complete set is
pinned. An incomplete set keeps the pins that it had. Only images on the node are pinned.
"""

from collections.abc import Container, Iterable
from datetime import datetime

from lading.kernel import planning
from lading.kernel.planning import Action, Plan, RecordEvent
from lading.pinned_images.node import admission, rules, schedule, status, verdicts
from lading.pinned_images.node.types import (
    Desired,
    ForgetImages,
    ObservedNodeImages,
    ResolveImages,
    SetVerdict,
    WritePins,
)
from lading.pinned_images.reasons import EventReason
from lading.pinned_images.types import SetState
from lading.ports.cri import Pin


def plan(desired: Desired, observed: ObservedNodeImages, now: datetime) -> Plan:
    admitted, refusals = admission.admit_by_storage(desired, observed)
    found = verdicts.verdicts(desired, observed, refusals, now)
    pulls = schedule.pull_schedule(desired, admitted, observed, now)
    pins = pins_to_write(found, observed)
    writes = status.status_to_write(desired, found, observed, now)
    return Plan(
        actions=(
            *images_to_resolve(desired, observed, now),
            *images_to_forget(desired, observed),
            *pulls,
            *pins,
            *writes,
            *(event for write in writes for event in status.events(found, observed, write.status)),
        ),
        recheck_at=planning.earliest(
            read_back_at(desired, observed, now) if pins else None,
            recheck_at(desired, found, observed, now, status_is_written=bool(writes)),
        ),
    )


def images_to_resolve(
    desired: Desired, observed: ObservedNodeImages, now: datetime
) -> tuple[ResolveImages, ...]:
    wanted = rules.wanted_images(desired)
    unknown = tuple(
        sorted(key for key in wanted if rules.resolution_is_wanted(key, desired, observed, now))
    )
    if not unknown:
        return ()
    return (ResolveImages(keys=unknown, because="their size on this node is not known"),)


def images_to_forget(desired: Desired, observed: ObservedNodeImages) -> tuple[ForgetImages, ...]:
    wanted = rules.wanted_images(desired)
    unpinned = wanted - rules.pinned_images(observed)
    known = observed.resolutions.keys() | observed.unresolved.keys() | observed.resolving
    if known <= wanted and observed.past_pulls.keys() <= unpinned:
        return ()
    because = "no set wants the images, or they are pinned"
    return (ForgetImages(wanted=wanted, unpinned=unpinned, because=because),)


def pins_to_write(
    found: tuple[SetVerdict, ...], observed: ObservedNodeImages
) -> tuple[Action, ...]:
    """The pins of complete sets, and the earlier pins of the others. Empty if all are in force."""
    references: dict[str, str] = {}
    owners: dict[str, set[str]] = {}
    held = [
        *((verdict.desired.name, _pins_of(verdict, observed)) for verdict in found),
        *((name, _recorded_pins(name, observed)) for name in _still_claimed(found, observed)),
    ]
    for name, pins in held:
        for image_id, reference in pins:
            references[image_id] = min(reference, references.get(image_id, reference))
            owners.setdefault(image_id, set()).add(name)
    tags = _tags_to_hold(found, owners.keys(), observed)
    wanted = tuple(
        Pin(
            image=references[image_id],
            image_id=image_id,
            owners=tuple(sorted(names)),
            tags=tuple(sorted(tag for tag, one in tags.items() if one == image_id)),
        )
        for image_id, names in sorted(owners.items())
    )
    if observed.cannot_pin or _in_force(wanted, observed):
        return ()
    write = WritePins(pins=wanted, because=_why_pins_change(wanted, observed))
    return (write, *_moved_tags(wanted, observed))


def _tags_to_hold(
    found: tuple[SetVerdict, ...], pinned: Container[str], observed: ObservedNodeImages
) -> dict[str, str]:
    """The image ID of each tag: of complete sets, and those that were written before for others."""
    if not observed.makes_tags:
        return {}
    tags = {
        tag: observed.images[key].image_id
        for verdict in found
        if verdict.is_complete
        for tag, key in verdict.desired.tags.items()
    }
    incomplete = {verdict.desired.name for verdict in found if not verdict.is_complete}
    for recorded in observed.pins:
        if incomplete.intersection(recorded.pin.owners):
            for tag in recorded.pin.tags:
                tags.setdefault(tag, recorded.pin.image_id)
    return {tag: image_id for tag, image_id in tags.items() if image_id in pinned}


def _moved_tags(wanted: tuple[Pin, ...], observed: ObservedNodeImages) -> Iterable[RecordEvent]:
    for pin in wanted:
        for tag in pin.tags:
            if observed.tags.get(tag, pin.image_id) != pin.image_id:
                because = f"{tag} meant another image on this node. Now it means {pin.image}"
                yield RecordEvent(reason=EventReason.TAG_MOVED, because=because)


def _pins_of(verdict: SetVerdict, observed: ObservedNodeImages) -> Iterable[tuple[str, str]]:
    if verdict.state is SetState.PINNED or (verdict.is_complete and observed.node_is_well):
        for key in verdict.desired.images:
            present = observed.images[key]
            yield present.image_id, present.reference
        return
    name = verdict.desired.name
    released = frozenset[str]()
    # The status stops claiming the set before its pins go.
    if not observed.status_is_wanted or name not in _claimed(observed):
        released = rules.pins_left_by_gate(verdict.desired, observed)
    for image_id, reference in _recorded_pins(name, observed):
        if image_id not in released:
            yield image_id, reference


def _recorded_pins(set_name: str, observed: ObservedNodeImages) -> Iterable[tuple[str, str]]:
    for recorded in observed.pins:
        if set_name in recorded.pin.owners and recorded.pin.image_id in observed.image_ids:
            yield recorded.pin.image_id, recorded.pin.image


def _still_claimed(found: tuple[SetVerdict, ...], observed: ObservedNodeImages) -> Iterable[str]:
    """Sets that the node no longer has, but reports as pinned. Their status is written first."""
    if not observed.status_is_wanted:
        return ()
    claimed = _claimed(observed)
    return (name for name in status.sets_still_reported(found, observed) if name in claimed)


def _claimed(observed: ObservedNodeImages) -> set[str]:
    return {one.name for one in observed.last_status.pinned_image_sets if one.current_generation}


def _in_force(wanted: tuple[Pin, ...], observed: ObservedNodeImages) -> bool:
    effective = {
        recorded.pin.image_id: (recorded.pin.owners, recorded.pin.tags)
        for recorded in observed.pins
        if recorded.effective
    }
    if observed.released_pins or observed.pins_outdated:
        return False
    return len(effective) == len(observed.pins) and effective == {
        pin.image_id: (pin.owners, pin.tags) for pin in wanted
    }


def _why_pins_change(wanted: tuple[Pin, ...], observed: ObservedNodeImages) -> str:
    held = (*observed.pins, *observed.released_pins)
    before = {recorded.pin.image_id for recorded in held if recorded.effective}
    after = {pin.image_id for pin in wanted}
    kept = len(before & after)
    return f"{len(after - before)} to pin, {len(before - after)} to unpin, {kept} to keep"


def read_back_at(desired: Desired, observed: ObservedNodeImages, now: datetime) -> datetime:
    """Soon after pins are written; later if the runtime did not take the last ones."""
    settings, before = desired.settings, observed.history.pins_at
    again = before is not None and planning.due(before, settings.pins_interval, now=now) > now
    return now + (settings.pins_interval if again else settings.read_back_after)


def recheck_at(
    desired: Desired,
    found: tuple[SetVerdict, ...],
    observed: ObservedNodeImages,
    now: datetime,
    *,
    status_is_written: bool,
) -> datetime | None:
    """After the resync period at the latest, to notice images that were removed by hand."""
    wanted = rules.wanted_images(desired)
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
        rules.starts_at(verdict.desired, desired, observed, now)
        for verdict in found
        if verdict.state is not SetState.PINNED
    )
    due = planning.earliest(
        *(
            instant
            for instant in (*retries, *resolves, *removed, *stalls, *starts)
            if instant is not None and instant > now
        )
    )
    report_due = None if status_is_written else status.next_write_at(desired, observed, now)
    return planning.earliest(now + desired.settings.resync_period, due, report_due)
