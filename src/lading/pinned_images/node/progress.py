"""The progress of a node in numbers, for a client that asks the agent. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from lading.kernel import conditions
from lading.kernel.images import ImageKey
from lading.pinned_images.node import admission, rules
from lading.pinned_images.node import verdicts as verdict_rules
from lading.pinned_images.node.types import (
    Budget,
    Desired,
    ObservedNodeImages,
    SetBytes,
    SetVerdict,
)
from lading.pinned_images.types import (
    Progress,
    PullProgress,
    SetProblem,
    SetProgress,
    SetState,
    StorageBudget,
)


def progress(desired: Desired, observed: ObservedNodeImages, now: datetime) -> Progress:
    _, refusals = admission.admit_by_storage(desired, observed)
    verdicts = verdict_rules.verdicts(desired, observed, refusals, now)
    doing = verdict_rules.combined(verdict.activity for verdict in verdicts)
    counts = verdict_rules.counts(desired.sets, observed, doing)
    here, arrivals = rules.layers_present(observed), _arrivals(desired, observed)
    return Progress(
        node=desired.node_name,
        message=str(counts),
        image_count=counts.wanted,
        present_count=counts.present,
        bytes_missing=counts.missing_bytes,
        bytes_per_second=int(arrivals.bytes_per_second),
        sets=tuple(
            _set(verdict, rules.set_bytes(verdict.desired, observed, here), arrivals, now)
            for verdict in verdicts
        ),
        pulls=tuple(
            PullProgress(
                image=str(key),
                running=pull.running,
                attempts=pull.attempts,
                error=pull.error.message if pull.error else "",
            )
            for key, pull in sorted(observed.pulls.items())
        ),
        storage=_storage(observed.budget),
    )


class _Arrivals(msgspec.Struct, frozen=True, kw_only=True):
    """Of all running pulls. The share of each is by the bytes that it downloads."""

    expected: Mapping[ImageKey, int]
    arrived_bytes: int
    bytes_per_second: float

    def share(self, keys: Iterable[ImageKey]) -> float:
        whole = sum(self.expected.values())
        return sum(self.expected.get(key, 0) for key in keys) / whole if whole else 0.0


def _arrivals(desired: Desired, observed: ObservedNodeImages) -> _Arrivals:
    running = {key: pull.new_bytes for key, pull in observed.pulls.items() if pull.running}
    factor, transfer = desired.settings.expansion_factor, observed.transfer
    return _Arrivals(
        expected=running,
        arrived_bytes=transfer.arrived_bytes(
            expected_bytes=sum(running.values()), expansion_factor=factor
        ),
        bytes_per_second=transfer.bytes_per_second(expansion_factor=factor) if running else 0.0,
    )


def _set(
    verdict: SetVerdict, size: SetBytes | None, arrivals: _Arrivals, now: datetime
) -> SetProgress:
    """A set is Pulling while a pull runs, also if an earlier one failed."""
    doing, share = verdict.activity, arrivals.share(verdict.missing)
    rate = arrivals.bytes_per_second * share
    arrived = int(arrivals.arrived_bytes * share)
    done = min(size.present + arrived, size.total) if size else None
    left = size.total - done if size and done is not None else 0
    ends_at = now + timedelta(seconds=left / rate) if left and rate >= 1 else None
    return SetProgress(
        name=verdict.desired.name,
        uid=verdict.desired.uid,
        generation=verdict.desired.generation,
        state=SetState.PULLING if doing.pulling else verdict.state,
        pulling=doing.pulling,
        attempt=doing.attempt,
        next_try_at=conditions.timestamp(doing.next_try_at) if doing.next_try_at else "",
        image_count=len(verdict.desired.images),
        present_count=len(verdict.desired.images) - len(verdict.missing),
        bytes_done=done,
        bytes_total=size.total if size else None,
        bytes_per_second=int(rate),
        ends_at=conditions.timestamp(ends_at) if ends_at else "",
        missing=tuple(map(str, verdict.missing)),
        problems=tuple(
            SetProblem(reason=problem.reason, message=problem.message, image=problem.image)
            for problem in verdict.problems
        ),
    )


def _storage(budget: Budget | None) -> StorageBudget | None:
    if budget is None:
        return None
    return StorageBudget(
        capacity_bytes=budget.capacity_bytes,
        free_bytes=budget.free_bytes,
        reserve_bytes=budget.reserve_bytes,
        reserve_reason=budget.reserve_reason,
    )
