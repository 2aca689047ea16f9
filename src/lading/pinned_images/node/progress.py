"""How far a node is, in numbers, for a client that asks the agent itself. Pure.

The status reports the same more rarely: it is written for the cluster, and every write costs.
"""

from datetime import datetime

from lading.kernel import conditions
from lading.kernel.objects import Model
from lading.pinned_images.node import activity, admission, plan, rules
from lading.pinned_images.node.types import (
    Budget,
    Desired,
    ObservedNodeImages,
    SetState,
    SetVerdict,
)


class SetProblem(Model, frozen=True, kw_only=True, omit_defaults=False):
    reason: str
    message: str
    image: str


class SetProgress(Model, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    generation: int
    state: str
    pulling: int
    attempt: int
    next_try_at: str
    """Empty while a pull runs, and where nothing failed."""
    image_count: int
    missing: tuple[str, ...]
    problems: tuple[SetProblem, ...]


class PullProgress(Model, frozen=True, kw_only=True, omit_defaults=False):
    image: str
    running: bool
    attempts: int
    error: str = ""


class StorageBudget(Model, frozen=True, kw_only=True, omit_defaults=False):
    capacity_bytes: int
    free_bytes: int
    reserve_bytes: int
    reserve_reason: str


class Progress(Model, frozen=True, kw_only=True, omit_defaults=False):
    node: str
    message: str
    """The numbers in one sentence."""
    image_count: int
    present_count: int
    bytes_wanted: int
    bytes_missing: int | None
    """None when the size of an image is not known."""
    sets: tuple[SetProgress, ...]
    pulls: tuple[PullProgress, ...]
    storage: StorageBudget | None


def progress(desired: Desired, observed: ObservedNodeImages, now: datetime) -> Progress:
    _, refusals = admission.admit_by_storage(desired, observed)
    verdicts = plan.verdicts(desired, observed, refusals, now)
    doing = activity.combined(verdict.activity for verdict in verdicts)
    counts = rules.counts(desired.sets, observed, doing)
    return Progress(
        node=desired.node_name,
        message=str(counts),
        image_count=counts.wanted,
        present_count=counts.present,
        bytes_wanted=counts.wanted_bytes,
        bytes_missing=counts.missing_bytes,
        sets=tuple(map(_set, verdicts)),
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


def _set(verdict: SetVerdict) -> SetProgress:
    """A pull that is tried again is a pull; what failed before is among the problems."""
    doing = verdict.activity
    return SetProgress(
        name=verdict.desired.name,
        generation=verdict.desired.generation,
        state=SetState.PULLING if doing.pulling else verdict.state,
        pulling=doing.pulling,
        attempt=doing.attempt,
        next_try_at=conditions.timestamp(doing.next_try_at) if doing.next_try_at else "",
        image_count=len(verdict.desired.images),
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
