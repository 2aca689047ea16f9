"""What must be true of every look of a node, judged anew and without the code that planned it."""

from datetime import timedelta

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.kernel import conditions
from lading.kernel.images import ImageKey
from lading.pinned_images.node.types import (
    CancelPull,
    DesiredSet,
    ObservedNodeImages,
    PinSettings,
    PullErrorKind,
    StartPull,
    WritePins,
)
from lading.pinned_images.reasons import ConditionType
from tests.pinned_images.node.builders import actions_of
from tests.pinned_images.node.lives import PARALLEL_PULLS_MAX, Look

PASSING = (PullErrorKind.UNAVAILABLE, PullErrorKind.OTHER)
RETRY_MIN = timedelta(seconds=PinSettings().pull_retry.seconds_min)


def check(look: Look, before: MachineConfigNodeStatus, after: MachineConfigNodeStatus) -> None:
    check_pins(look)
    check_pulls(look)
    check_recheck(look)
    check_status(look, before, after)


def is_well(observed: ObservedNodeImages) -> bool:
    return observed.ready and not observed.disk_pressure


def missing(image_set: DesiredSet, observed: ObservedNodeImages) -> set[ImageKey]:
    return set(image_set.images) - observed.images.keys()


def is_complete(image_set: DesiredSet, observed: ObservedNodeImages) -> bool:
    return not image_set.unresolvable and not missing(image_set, observed)


def owned(name: str, observed: ObservedNodeImages) -> set[str]:
    return {recorded.pin.image_id for recorded in observed.pins if name in recorded.pin.owners}


def claimed(status: MachineConfigNodeStatus) -> set[str]:
    return {entry.name for entry in status.pinned_image_sets if entry.current_generation}


def is_held(image_set: DesiredSet, observed: ObservedNodeImages) -> bool:
    """Everything is there, and the runtime says that it is pinned for this set."""
    if not is_complete(image_set, observed):
        return False
    in_force = {recorded.pin.image_id for recorded in observed.pins if recorded.effective}
    ids = {observed.images[key].image_id for key in image_set.images}
    return ids <= in_force & owned(image_set.name, observed)


def check_pins(look: Look) -> None:
    desired, observed = look.desired, look.observed
    writes = actions_of(look.plan, WritePins)
    if observed.cannot_pin:
        assert not writes
        return
    names = {one.name for one in desired.sets}
    pins = writes[0].pins if writes else tuple(recorded.pin for recorded in observed.pins)
    assert all(recorded.effective for recorded in observed.pins) or writes
    assert {pin.image_id for pin in pins} <= observed.image_ids
    withdrawn_first = claimed(observed.last_status) - names
    assert all(pin.owners and (names | withdrawn_first).issuperset(pin.owners) for pin in pins)
    for name in withdrawn_first:
        kept = {pin.image_id for pin in pins if name in pin.owners}
        assert kept == owned(name, observed) & observed.image_ids
    for one in desired.sets:
        kept = {pin.image_id for pin in pins if one.name in pin.owners}
        if is_held(one, observed) or (is_complete(one, observed) and is_well(observed)):
            assert kept == {observed.images[key].image_id for key in one.images}
        else:
            assert kept == owned(one.name, observed) & observed.image_ids


def check_pulls(look: Look) -> None:
    desired, observed = look.desired, look.observed
    running = {key for key, pull in observed.pulls.items() if pull.running}
    started = {action.key for action in actions_of(look.plan, StartPull)}
    cancelled = {action.key for action in actions_of(look.plan, CancelPull)}
    wanted = {key for one in desired.sets for key in one.images}
    assert cancelled <= observed.pulls.keys()
    assert observed.pulls.keys() - wanted <= cancelled
    assert (observed.pulls.keys() & observed.images.keys()) - running <= cancelled
    assert started <= wanted - observed.images.keys() - running
    assert not started or (is_well(observed) and not is_out_of_space(look))
    assert not observed.disk_pressure or running <= cancelled | observed.images.keys()
    in_flight = (running - cancelled) | started
    assert len(in_flight) <= PARALLEL_PULLS_MAX, "all images are of one registry"
    assert not (started and does_not_fit_at_all(look)), "a pull is begun that cannot fit"
    assert not any(has_just_failed(key, look) for key in started), "a pull is tried at once"
    if can_pull(look) and not cancelled and len(in_flight) < PARALLEL_PULLS_MAX:
        untried = wanted & observed.resolutions.keys() - observed.images.keys()
        removed = {key for key, past in observed.past_pulls.items() if past.count > 1}
        assert untried - observed.pulls.keys() - removed <= started


def has_just_failed(key: ImageKey, look: Look) -> bool:
    pull = look.observed.pulls.get(key)
    if pull is None or pull.error is None or pull.credentials_changed:
        return False
    return timedelta(0) <= look.now - pull.error.at < RETRY_MIN


def can_pull(look: Look) -> bool:
    observed = look.observed
    kinds = [pull.error.kind for pull in observed.pulls.values() if pull.error]
    return is_well(observed) and PullErrorKind.NO_SPACE not in kinds and not does_not_fit(look)


def is_out_of_space(look: Look) -> bool:
    """A pull has only just hit the end of the disk."""
    return any(
        pull.error.kind is PullErrorKind.NO_SPACE
        and timedelta(0) <= look.now - pull.error.at < RETRY_MIN
        for pull in look.observed.pulls.values()
        if pull.error and not pull.running
    )


def check_recheck(look: Look) -> None:
    assert look.plan.recheck_at is not None
    wait = look.plan.recheck_at - look.now
    assert 0 < wait.total_seconds() <= 120


def check_status(
    look: Look, before: MachineConfigNodeStatus, after: MachineConfigNodeStatus
) -> None:
    if after == before:
        return
    entries = {entry.name: entry for entry in after.pinned_image_sets}
    last = {entry.name: entry for entry in before.pinned_image_sets}
    assert len(entries) == len(after.pinned_image_sets)
    assert claimed(after) <= {one.name for one in look.desired.sets}
    for one in look.desired.sets:
        entry = entries[one.name]
        claims = entry.current_generation == one.generation
        assert claims == is_held(one, look.observed)
        assert len(entry.last_failed_generation_errors) <= group.ERRORS_PER_SET_MAX
        assert one.generation == entry.desired_generation
        assert one.generation >= entry.current_generation
        assert one.generation >= entry.last_failed_generation
        if one.name in last and not claims:
            check_that_the_past_survives(last[one.name], entry)
    all_held = all(is_held(one, look.observed) for one in look.desired.sets)
    assert conditions.is_true(after.conditions, ConditionType.SETS_PROGRESSING) == (not all_held)
    is_degraded = conditions.is_true(after.conditions, ConditionType.SETS_DEGRADED)
    if reported_before(look, before):
        assert is_degraded, "an error is forgotten"
    elif is_degraded:
        assert has_a_cause(look)
    assert is_degraded or not has_a_lasting_fault(look), "a fault is not reported"
    if is_degraded and not look.observed.history.pins_error:
        assert any(one.last_failed_generation_errors for one in entries.values())


def reported_before(look: Look, before: MachineConfigNodeStatus) -> bool:
    """Whether an error was reported, perhaps by an earlier process, that nothing has ended."""
    if not conditions.is_true(before.conditions, ConditionType.SETS_DEGRADED):
        return False
    errors = {
        (entry.name, entry.uid, entry.last_failed_generation): entry.last_failed_generation_errors
        for entry in before.pinned_image_sets
    }
    return any(
        f"{key}: " in error
        for one in look.desired.sets
        for key in missing(one, look.observed) - look.observed.past_pulls.keys()
        for error in errors.get((one.name, one.uid, one.generation), ())
    )


def check_claims(
    look: Look,
    held: dict[str, bool],
    before: MachineConfigNodeStatus,
    after: MachineConfigNodeStatus,
) -> None:
    """A claim is made only for what the runtime held, and taken back only for what it did not.

    `held` was read from the runtime itself, right before the look.
    """
    claims_before, claims_after = claims_of(before), claims_of(after)
    wanted = {(one.name, one.uid, one.generation) for one in look.desired.sets}
    assert claims_after - claims_before <= wanted, "a claim is made for what no set wants"
    for one in look.desired.sets:
        claim = (one.name, one.uid, one.generation)
        if claim in claims_after - claims_before:
            assert held[one.name], f"{claim} is claimed, and the runtime does not hold it"
        if claim in claims_before - claims_after:
            is_lost = not held[one.name] or look.observed.cannot_pin or one.unresolvable
            assert is_lost, f"{claim} is taken back, and the runtime holds it"
        if claim in claims_before & claims_after and look.api_answers:
            assert held[one.name], f"{claim} stands, and the runtime does not hold it"


def check_desired(look: Look, wanted: set[tuple[str, str, int]]) -> None:
    """`wanted` comes from the objects of the API, without the code of the agent."""
    assert {(one.name, one.uid, one.generation) for one in look.desired.sets} == wanted


def claims_of(status: MachineConfigNodeStatus) -> set[tuple[str, str, int]]:
    entries = status.pinned_image_sets
    return {
        (one.name, one.uid, one.current_generation) for one in entries if one.current_generation
    }


def check_that_the_past_survives(last: NodePinnedImageSet, entry: NodePinnedImageSet) -> None:
    if last.uid != entry.uid:
        return  # a namesake
    if last.current_generation < entry.desired_generation:
        assert entry.current_generation == last.current_generation
    if last.last_failed_generation:
        assert entry.last_failed_generation >= last.last_failed_generation
        assert entry.last_failed_generation_errors


def has_a_cause(look: Look) -> bool:
    """Whether there is anything but slowness, and faults that pass."""
    observed = look.observed
    lacking = {key for one in look.desired.sets for key in missing(one, observed)}
    return bool(
        not is_well(observed)
        or observed.cannot_pin
        or observed.history.pins_error
        or any(one.unresolvable for one in look.desired.sets)
        or any(not recorded.effective for recorded in observed.pins)
        or any(
            pull.error and (pull.error.kind not in PASSING or pull.attempts - pull.running >= 3)
            for key, pull in observed.pulls.items()
            if key in lacking
        )
        or any(past.count > 2 for key, past in observed.past_pulls.items() if key in lacking)
        or any(
            look.now - since >= timedelta(minutes=1)
            for since in observed.history.unpinned_since.values()
        )
        or does_not_fit(look)
    )


def has_a_lasting_fault(look: Look) -> bool:
    """An image is missing, and its pull failed by what does not pass by itself."""
    pulls = look.observed.pulls
    return any(
        key in pulls and (error := pulls[key].error) is not None and error.kind not in PASSING
        for one in look.desired.sets
        for key in missing(one, look.observed)
    )


def does_not_fit(look: Look) -> bool:
    observed = look.observed
    assert observed.budget is not None
    here = {
        layer
        for key in observed.images
        if key in observed.resolutions
        for layer in observed.resolutions[key].layers
    }
    to_come = {
        layer
        for one in look.desired.sets
        for key in missing(one, observed)
        if key in observed.resolutions
        for layer in observed.resolutions[key].layers
    }
    needed = sum(layer.size_bytes for layer in to_come - here)
    return needed * look.desired.settings.expansion_factor > observed.budget.usable_bytes


def does_not_fit_at_all(look: Look) -> bool:
    """No byte may be added, and everything that is missing has some."""
    observed = look.observed
    assert observed.budget is not None
    lacking = {key for one in look.desired.sets for key in missing(one, observed)}
    return observed.budget.usable_bytes == 0 and lacking <= observed.resolutions.keys()


def check_that_all_is_well(look: Look, status: MachineConfigNodeStatus) -> None:
    assert all(is_held(one, look.observed) for one in look.desired.sets)
    assert [(one.name, one.current_generation) for one in status.pinned_image_sets] == [
        (one.name, one.generation) for one in look.desired.sets
    ]
    assert not conditions.is_true(status.conditions, ConditionType.SETS_PROGRESSING)
    assert not conditions.is_true(status.conditions, ConditionType.SETS_DEGRADED)
