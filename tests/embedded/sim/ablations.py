"""Safeguards of the product, each switched off by a patch: the simulator must notice."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from unittest import mock

from lading.embedded.sim import world
from lading.kernel.values import replace
from lading.loop import reflector
from lading.loop.reflector import Reflector
from lading.pinned_images import claims, membership
from lading.pinned_images.claims import Claim
from lading.pinned_images.cluster import status as cluster_status
from lading.pinned_images.cluster.fleet import Fleet
from lading.pinned_images.node import plan, rules
from lading.pinned_images.node import status as node_status
from lading.pinned_images.node.types import PinSettings
from lading.ports.kube import EventType

NEVER = datetime(2100, 1, 1, tzinfo=UTC)


class Ablation(NamedTuple):
    safeguard: str
    target: Any
    name: str
    instead: Any
    seeds: int | None
    """After how many seeds it was found, counted from 0; None if not within 40."""


@contextmanager
def without(ablation: Ablation) -> Iterator[None]:
    with mock.patch.object(ablation.target, ablation.name, ablation.instead):
        yield


def _without_uid(image_set: Any) -> Claim:
    return Claim("", image_set.metadata.generation)


_held = claims.held
_entry = node_status._entry
_set_status = cluster_status.set_status
_take = Reflector._take
_pins_of = plan._pins_of


def _claims_by_name(node: Any) -> dict[str, Claim]:
    return {name: Claim("", claim.generation) for name, claim in _held(node).items()}


def _always_current(verdict: Any, last: Any) -> Any:
    return replace(_entry(verdict, last), current_generation=verdict.desired.generation)


def _keeps_the_last_claim(verdict: Any, last: Any) -> Any:
    entry = _entry(verdict, last)
    before = last.current_generation if last is not None else 0
    return replace(entry, current_generation=max(entry.current_generation, before))


def _all_ready(observed: Any, now: datetime) -> Any:
    return replace(_set_status(observed, now), ready_node_count=observed.counts.node_count)


def _without_deletions(self: Any, event: Any) -> None:
    if event.type is not EventType.DELETED:
        _take(self, event)


def _only_complete_sets(verdict: Any, observed: Any) -> Any:
    return _pins_of(verdict, observed) if verdict.is_complete else ()


def _never(*_args: Any, **_options: Any) -> datetime:
    return NEVER


def _nothing(*_args: Any, **_options: Any) -> None:
    return None


def _images_are_enough(image_set: Any, observed: Any) -> bool:
    return not rules.images_missing(image_set, observed)


def _without_resync() -> PinSettings:
    return PinSettings(resync_period=timedelta(days=1))


_TRUE: Callable[..., bool] = lambda *_args: True  # noqa: E731
_FALSE: Callable[..., bool] = lambda *_args: False  # noqa: E731

ABLATIONS = (
    Ablation("pins are read back from the runtime", rules, "set_is_pinned", _images_are_enough, 0),
    Ablation("a node claims only what it holds", node_status, "_entry", _always_current, 0),
    Ablation("a lost image ends the claim", node_status, "_entry", _keeps_the_last_claim, 1),
    Ablation("an incomplete set keeps its pins", plan, "_pins_of", _only_complete_sets, 15),
    Ablation("claims go before pins", plan, "_still_claimed", lambda *_: (), None),
    Ablation("a node looks again by itself", world, "PinSettings", _without_resync, 0),
    Ablation("a failed pull is retried", rules, "retry_at", _never, 3),
    Ablation("the counts follow the reports", Fleet, "_report_changed", _nothing, 0),
    Ablation("a set counts only nodes that are ready", cluster_status, "set_status", _all_ready, 0),
    Ablation("a report of an earlier Node is not counted", membership, "is_report_of", _TRUE, None),
    Ablation("a watch that expired lists again", reflector, "revision_is_useless", _FALSE, None),
    Ablation("deletions are followed", Reflector, "_take", _without_deletions, 0),
)
