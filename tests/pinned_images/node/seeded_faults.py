"""Faults that are built into the agent of a node, to see whether its random lives notice them.

A fault replaces one function by one that is wrong in one way.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

from lading.kernel.values import replace
from lading.pinned_images.node import (
    admission,
    desire,
    plan,
    pulls,
    report,
    rules,
    schedule,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    name: str
    module: ModuleType | type
    function: str
    becomes: Callable[[Any], Any]
    """Makes the wrong function from the right one."""


def _answers(value: object) -> Callable[[Any], Any]:
    return lambda _right: lambda *_, **__: value


def _pins_of_any_owner(_right: Any) -> Any:
    def set_is_pinned(image_set: Any, observed: Any) -> bool:
        ids = {one.pin.image_id for one in observed.pins if one.effective}
        return all(
            key in observed.images and observed.images[key].image_id in ids
            for key in image_set.images
        )

    return set_is_pinned


def _pins_not_in_force(_right: Any) -> Any:
    def set_is_pinned(image_set: Any, observed: Any) -> bool:
        ids = {one.pin.image_id for one in observed.pins if image_set.name in one.pin.owners}
        return all(
            key in observed.images and observed.images[key].image_id in ids
            for key in image_set.images
        )

    return set_is_pinned


def _complete_is_pinned(_right: Any) -> Any:
    return lambda image_set, observed: not rules.images_missing(image_set, observed)


def _first_image_is_enough(right: Any) -> Any:
    return lambda image_set, observed: right(
        replace(image_set, images=image_set.images[:1]), observed
    )


def _namesake_inherits(right: Any) -> Any:
    def entry(verdict: Any, last: Any) -> Any:
        if last is not None:
            last = replace(last, uid=verdict.desired.uid)
        return right(verdict, last)

    return entry


def _newest_generation_is_claimed(right: Any) -> Any:
    def entry(verdict: Any, last: Any) -> Any:
        found = right(verdict, last)
        if not found.current_generation:
            return found
        return replace(found, current_generation=found.desired_generation)

    return entry


def _last_good_generation_is_forgotten(right: Any) -> Any:
    def entry(verdict: Any, last: Any) -> Any:
        found = right(verdict, last)
        if found.current_generation == found.desired_generation:
            return found
        return replace(found, current_generation=0)

    return entry


def _last_error_is_forgotten(right: Any) -> Any:
    def entry(verdict: Any, last: Any) -> Any:
        return replace(
            right(verdict, last), last_failed_generation=0, last_failed_generation_errors=()
        )

    return entry


def _gone_images_are_pinned(_right: Any) -> Any:
    def recorded_pins(set_name: str, observed: Any) -> Iterable[tuple[str, str]]:
        for one in observed.pins:
            if set_name in one.pin.owners:
                yield one.pin.image_id, one.pin.image

    return recorded_pins


def _incomplete_sets_are_unpinned(right: Any) -> Any:
    return lambda verdict, observed: right(verdict, observed) if verdict.is_complete else ()


def _one_owner_is_left_out(right: Any) -> Any:
    def pins_to_write(verdicts: Any, observed: Any) -> Any:
        actions = right(verdicts, observed)
        return tuple(
            replace(one, pins=tuple(replace(pin, owners=pin.owners[:1]) for pin in one.pins))
            for one in actions
        )

    return pins_to_write


def _no_cap(_right: Any) -> Any:
    return lambda ordered, running, at_once_max: ordered


def _removed_sets_are_wanted(right: Any) -> Any:
    """The pool of a node does not matter any more."""

    def desired(node: Any, pools: Any, sets: Any, **more: Any) -> Any:
        found = tuple(pools)
        everything = [name for one in found for name in one.spec.pinned_image_sets]
        spec = replace(found[0].spec, pinned_image_sets=tuple(everything))
        return right(node, [replace(one, spec=spec) for one in found], sets, **more)

    return desired


def _failed_pull_leaves_no_trace(_right: Any) -> Any:
    def fail(self: Any, key: Any, **_: Any) -> None:
        self._ledger.pop(key, None)

    return fail


def _refusals_are_ignored(right: Any) -> Any:
    def admit(desired: Any, observed: Any) -> Any:
        _, refusals = right(desired, observed)
        wanted = frozenset(key for one in desired.sets for key in one.images)
        return wanted, refusals

    return admit


def _late(right: Any) -> Any:
    def recheck_at(desired: Any, *args: Any, **more: Any) -> datetime:
        found: datetime = right(desired, *args, **more)
        return found + timedelta(minutes=5)

    return recheck_at


FAULTS = (
    Fault(
        name="a pin of another set counts",
        module=rules,
        function="set_is_pinned",
        becomes=_pins_of_any_owner,
    ),
    Fault(
        name="a pin that is not in force counts",
        module=rules,
        function="set_is_pinned",
        becomes=_pins_not_in_force,
    ),
    Fault(
        name="complete is taken for pinned",
        module=rules,
        function="set_is_pinned",
        becomes=_complete_is_pinned,
    ),
    Fault(
        name="missing images do not count",
        module=rules,
        function="images_missing",
        becomes=_answers(()),
    ),
    Fault(
        name="the first image stands for all",
        module=rules,
        function="set_is_pinned",
        becomes=_first_image_is_enough,
    ),
    Fault(
        name="a namesake inherits the claim",
        module=report,
        function="_entry",
        becomes=_namesake_inherits,
    ),
    Fault(
        name="the newest generation is claimed for the last good one",
        module=report,
        function="_entry",
        becomes=_newest_generation_is_claimed,
    ),
    Fault(
        name="the last good generation is forgotten",
        module=report,
        function="_entry",
        becomes=_last_good_generation_is_forgotten,
    ),
    Fault(
        name="the last error is forgotten",
        module=report,
        function="_entry",
        becomes=_last_error_is_forgotten,
    ),
    Fault(
        name="a set that left is still claimed",
        module=report,
        function="_withdrawn",
        becomes=lambda _right: lambda entry: entry,
    ),
    Fault(
        name="pins go before their claim",
        module=plan,
        function="_still_claimed",
        becomes=_answers(()),
    ),
    Fault(
        name="images that are gone are pinned",
        module=plan,
        function="_recorded_pins",
        becomes=_gone_images_are_pinned,
    ),
    Fault(
        name="an incomplete set loses its pins",
        module=plan,
        function="_pins_of",
        becomes=_incomplete_sets_are_unpinned,
    ),
    Fault(
        name="lost pins are not written again",
        module=plan,
        function="_in_force",
        becomes=_answers(True),
    ),
    Fault(
        name="a pin loses all owners but one",
        module=plan,
        function="pins_to_write",
        becomes=_one_owner_is_left_out,
    ),
    Fault(name="pulls have no cap", module=schedule, function="_within_the_cap", becomes=_no_cap),
    Fault(
        name="no pull is cancelled",
        module=schedule,
        function="_cancellations",
        becomes=_answers(()),
    ),
    Fault(
        name="a failed pull is tried at once",
        module=rules,
        function="retry_at",
        becomes=_answers(None),
    ),
    Fault(
        name="a node under pressure pulls",
        module=rules,
        function="node_problem",
        becomes=_answers(None),
    ),
    Fault(
        name="a passing fault degrades",
        module=rules,
        function="is_reported",
        becomes=_answers(True),
    ),
    Fault(name="no fault degrades", module=rules, function="is_reported", becomes=_answers(False)),
    Fault(
        name="the node of another pool holds the set",
        module=desire,
        function="desired",
        becomes=_removed_sets_are_wanted,
    ),
    Fault(
        name="a failed pull leaves no trace",
        module=pulls.PullEngine,
        function="_fail",
        becomes=_failed_pull_leaves_no_trace,
    ),
    Fault(
        name="a full disk is no reason to wait",
        module=admission,
        function="admit_by_storage",
        becomes=_refusals_are_ignored,
    ),
    Fault(name="the next look is too late", module=plan, function="recheck_at", becomes=_late),
)
MISSED = frozenset({"a failed pull leaves no trace"})
"""Lives do not notice these: the pull is tried at once, which is no false claim."""
