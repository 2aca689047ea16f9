"""The policy of a node, read top-down: what to resolve, pull, pin and report.

Every set gets its own verdict and none stops another. Pins are written for complete sets, and for
what an incomplete set had pinned before; nothing is pinned that is not on the node.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from lading.kernel.planning import Action, Plan, earliest
from lading.pinned_images.node import report, rules
from lading.pinned_images.node.types import (
    CancelPull,
    Desired,
    DesiredSet,
    ImageKey,
    Layer,
    Observed,
    ResolveImages,
    SetState,
    StartPull,
    Trouble,
    Verdict,
    WritePins,
)
from lading.ports.cri import Pin


def plan(desired: Desired, observed: Observed, now: datetime) -> Plan:
    admitted, refusals = admit_by_storage(desired, observed)
    found = verdicts(desired, observed, refusals)
    pulls = pull_schedule(desired, admitted, observed, now)
    pins = pins_to_hold(found, observed)
    status = report.status_to_write(desired, found, observed, now)
    return Plan(
        actions=(
            *images_to_resolve(desired, observed, now),
            *pulls,
            *pins,
            *status,
            *(report.events(found, observed) if status else ()),
        ),
        recheck_at=earliest(
            read_back_at(desired, observed, now) if pins else None,
            recheck_at(desired, found, observed, now, status_is_written=bool(status)),
        ),
    )


def verdicts(
    desired: Desired, observed: Observed, refusals: dict[str, Trouble]
) -> tuple[Verdict, ...]:
    return tuple(
        rules.verdict(image_set, observed, refusals, node_name=desired.node_name)
        for image_set in desired.sets
    )


def images_to_resolve(
    desired: Desired, observed: Observed, now: datetime
) -> tuple[ResolveImages, ...]:
    wanted = {key for image_set in desired.sets for key in image_set.images}
    unknown = tuple(sorted(key for key in wanted if rules.resolution_is_wanted(key, observed, now)))
    if not unknown:
        return ()
    return (ResolveImages(keys=unknown, because="their size on this node is not known"),)


def admit_by_storage(
    desired: Desired, observed: Observed
) -> tuple[frozenset[ImageKey], dict[str, Trouble]]:
    """The missing images that may be pulled, and the sets that do not fit as a whole.

    Nobody knows how much of its room a running pull has taken already. Until it has ended it
    counts in full for what may start beside it, and not at all for what is refused.
    """
    here = rules.layers_present(observed)
    running = (key for key, pull in observed.pulls.items() if pull.running)
    incoming = rules.layers_of(running, observed) - here
    factor = desired.settings.expansion_factor
    needs = _needs(desired, observed, here | incoming)
    admitted, refusals = _admit(needs, observed, rules.bytes_of(incoming), factor)
    if incoming:
        _, refusals = _admit(needs, observed, 0, factor)
    return admitted, refusals


class _Need(NamedTuple):
    """What a set lacks; small ones sort first, so that a large one takes nothing from them."""

    size_bytes: int
    set_name: str
    missing: tuple[ImageKey, ...]
    layers: frozenset[Layer]


def _needs(desired: Desired, observed: Observed, known: frozenset[Layer]) -> list[_Need]:
    needs = []
    for image_set in desired.sets:
        missing = rules.images_missing(image_set, observed)
        layers = rules.layers_of(missing, observed) - known
        needs.append(_Need(rules.bytes_of(layers), image_set.name, missing, layers))
    return sorted(needs, key=lambda need: (need.size_bytes, need.set_name))


def _admit(
    needs: Iterable[_Need], observed: Observed, taken_bytes: int, factor: float
) -> tuple[frozenset[ImageKey], dict[str, Trouble]]:
    """Layers are counted once over all sets, beside bytes that are taken already."""
    counted: set[Layer] = set()
    admitted: set[ImageKey] = set()
    refusals: dict[str, Trouble] = {}
    for need in needs:
        new_layers = need.layers - counted
        needed_bytes = taken_bytes + rules.bytes_of(new_layers)
        refusal = rules.storage_refusal(needed_bytes=needed_bytes, observed=observed, factor=factor)
        if refusal is not None and new_layers:
            refusals[need.set_name] = refusal
            continue
        taken_bytes = needed_bytes
        counted |= new_layers
        admitted.update(need.missing)
    return frozenset(admitted), refusals


def pull_schedule(
    desired: Desired, admitted: frozenset[ImageKey], observed: Observed, now: datetime
) -> tuple[Action, ...]:
    """Starts and cancels; never waits."""
    running = sorted(key for key, pull in observed.pulls.items() if pull.running)
    cancelled = tuple(_cancellations(running, desired, observed))
    if rules.node_trouble(observed, desired.node_name) is not None:
        return cancelled
    if rules.space_is_exhausted(observed, now, desired.node_name):
        return cancelled
    startable = {
        key
        for image_set in desired.sets
        for key in rules.images_missing(image_set, observed)
        if key in admitted and _may_start(key, image_set, desired, observed, now)
    }
    staying = set(running) - {action.key for action in cancelled}
    ordered = pull_order(startable, desired, observed)
    chosen = _within_the_cap(ordered, staying, desired.settings.pulls_at_once_max)
    here = rules.layers_present(observed) if chosen else frozenset()
    return (*cancelled, *(_start(key, observed, here) for key in chosen))


def _cancellations(
    running: Iterable[ImageKey], desired: Desired, observed: Observed
) -> Iterable[CancelPull]:
    """A runtime lists an image a moment before its pull has ended, which then ends by itself."""
    wanted = {key for image_set in desired.sets for key in image_set.images}
    for key in running:
        if key not in wanted:
            yield CancelPull(key=key, because="no set wants it any more")
        elif observed.disk_pressure:
            because = f"node {desired.node_name} reports DiskPressure"
            yield CancelPull(key=key, because=because)


def _may_start(
    key: ImageKey, image_set: DesiredSet, desired: Desired, observed: Observed, now: datetime
) -> bool:
    known = key in observed.resolutions or key in observed.unresolved
    pull = observed.pulls.get(key)
    if not known or (pull is not None and pull.running):
        return False
    retry = rules.retry_at(key, pull, desired.node_name, now) if pull is not None else None
    return rules.starts_at(image_set, desired, now) <= now and (retry is None or retry <= now)


def pull_order(
    keys: Iterable[ImageKey], desired: Desired, observed: Observed
) -> tuple[ImageKey, ...]:
    """Small images first, so that many are here soon; then the large ones, the largest first.

    A large image that is begun last keeps the node waiting when everything else is done. What is
    small is smaller than the mean of all images that the node should hold.
    """
    sizes = {key: found.size_bytes for key in keys if (found := observed.resolutions.get(key))}
    mean_bytes = rules.mean_image_bytes(desired, observed) if sizes else 0
    small = sorted((size, key) for key, size in sizes.items() if size <= mean_bytes)
    large = sorted((-size, key) for key, size in sizes.items() if size > mean_bytes)
    unknown = sorted(key for key in keys if key not in sizes)
    return (*(key for _, key in small), *(key for _, key in large), *unknown)


def _within_the_cap(
    ordered: tuple[ImageKey, ...], running: set[ImageKey], at_once_max: int
) -> tuple[ImageKey, ...]:
    """The next pulls. A registry that hangs may hold every place, but none of the others' first.

    So a registry without a pull in flight comes first, and waits for no place up to twice the cap.
    """
    served = {key.registry for key in running}
    first_of = {key.registry: key for key in reversed(ordered) if key.registry not in served}
    firsts = tuple(key for key in ordered if first_of.get(key.registry) == key)
    others = (key for key in ordered if first_of.get(key.registry) != key)
    free = at_once_max - len(running)
    return (*firsts, *others)[: max(free, min(len(firsts), free + at_once_max), 0)]


def _start(key: ImageKey, observed: Observed, here: frozenset[Layer]) -> StartPull:
    resolution = observed.resolutions.get(key)
    return StartPull(
        key=key,
        pull_reference=resolution.pull_reference if resolution else key.image,
        new_bytes=rules.bytes_of(rules.layers_of([key], observed) - here),
        because="a set wants it on this node",
    )


def pins_to_hold(verdicts: tuple[Verdict, ...], observed: Observed) -> tuple[Action, ...]:
    """The pins of complete sets, and what incomplete ones held before, unless all is so already."""
    references: dict[str, str] = {}
    owners: dict[str, set[str]] = {}
    for verdict in verdicts:
        for image_id, reference in _pins_of(verdict, observed):
            references[image_id] = min(reference, references.get(image_id, reference))
            owners.setdefault(image_id, set()).add(verdict.desired.name)
    wanted = tuple(
        Pin(image=references[image_id], image_id=image_id, owners=tuple(sorted(names)))
        for image_id, names in sorted(owners.items())
    )
    if observed.cannot_pin or _in_force(wanted, observed):
        return ()
    return (WritePins(pins=wanted, because=_why_pins_change(wanted, observed)),)


def _pins_of(verdict: Verdict, observed: Observed) -> Iterable[tuple[str, str]]:
    if verdict.state in (SetState.PINNED, SetState.PINNING):
        for key in verdict.desired.images:
            present = observed.images[key]
            yield present.image_id, present.reference
        return
    for held in observed.pins:
        if verdict.desired.name in held.pin.owners and held.pin.image_id in observed.image_ids:
            yield held.pin.image_id, held.pin.image


def _in_force(wanted: tuple[Pin, ...], observed: Observed) -> bool:
    effective = {held.pin.image_id: held.pin.owners for held in observed.pins if held.effective}
    return len(effective) == len(observed.pins) and effective == {
        pin.image_id: pin.owners for pin in wanted
    }


def _why_pins_change(wanted: tuple[Pin, ...], observed: Observed) -> str:
    before = {held.pin.image_id for held in observed.pins if held.effective}
    after = {pin.image_id for pin in wanted}
    kept = len(before & after)
    return f"{len(after - before)} to pin, {len(before - after)} to unpin, {kept} to keep"


def read_back_at(desired: Desired, observed: Observed, now: datetime) -> datetime:
    """Soon after pins were written; later when they were written just before and not taken."""
    settings, before = desired.settings, observed.pins_written_at
    again = before is not None and now - before < settings.pins_interval
    return now + (settings.pins_interval if again else settings.read_back_after)


def recheck_at(
    desired: Desired,
    verdicts: tuple[Verdict, ...],
    observed: Observed,
    now: datetime,
    *,
    status_is_written: bool,
) -> datetime | None:
    """At the end of the round at the latest: what was lost by hand is noticed then."""
    retries = (
        rules.retry_at(key, pull, desired.node_name, now) for key, pull in observed.pulls.items()
    )
    starts = (
        rules.starts_at(verdict.desired, desired, now)
        for verdict in verdicts
        if verdict.state is not SetState.PINNED
    )
    due = earliest(
        *(instant for instant in (*retries, *starts) if instant is not None and instant > now)
    )
    report_due = None if status_is_written else report.next_write_at(desired, observed, now)
    return earliest(now + desired.settings.round, due, report_due)
