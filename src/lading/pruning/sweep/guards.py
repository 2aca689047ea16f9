"""Guards: if a sweep looks wrong, it changes nothing and ends with exit code 3. Pure."""

from collections.abc import Iterator

from lading.pruning.engine.decisions.guards import (
    FEWER_REFERENCES_PERCENT,
    SMALL_PLAN,
    Guard,
    Limits,
    Refusal,
)
from lading.pruning.engine.types import References
from lading.pruning.sweep.types import SweepFacts, SweepPlan


def check(
    plan: SweepPlan,
    facts: SweepFacts,
    limits: Limits,
    *,
    references: References | None,
    references_last_time: int | None,
) -> tuple[Refusal, ...]:
    """The guards that refuse this plan. A plan that removes nothing is never refused."""
    if not (len(plan.condemned) or len(plan.swept)):
        return ()
    found = (
        *_share(plan, facts, limits),
        *_bytes(plan, facts, limits),
        *_references(references, references_last_time),
    )
    return tuple(one for one in found if one.guard not in limits.ignored)


def _share(plan: SweepPlan, facts: SweepFacts, limits: Limits) -> Iterator[Refusal]:
    count, total = len(plan.condemned) + len(plan.swept), len(facts.listing.blobs)
    if count > SMALL_PLAN and count * 100 > limits.share_percent_max * total:
        message = (
            f"Nothing needs {count} of {total} blobs, which is more than"
            f" {limits.share_percent_max}%."
        )
        yield Refusal(guard=Guard.SHARE, message=message)


def _bytes(plan: SweepPlan, facts: SweepFacts, limits: Limits) -> Iterator[Refusal]:
    sizes = facts.listing.blobs.sizes
    freed = int(sizes[plan.condemned].sum() + sizes[plan.swept].sum())
    most = limits.size_bytes_max
    if most is not None and freed > most:
        message = f"The sweep deletes {freed} bytes, which is more than {most}."
        yield Refusal(guard=Guard.BYTES, message=message)


def _references(references: References | None, last_time: int | None) -> Iterator[Refusal]:
    """Only with --untagged, where references decide."""
    if references is None:
        return
    found = references.of_this_registry
    if last_time and found * 100 < FEWER_REFERENCES_PERCENT * last_time:
        message = (
            "The clusters have fewer references to this registry than last time:"
            f" {found} instead of {last_time}."
        )
        yield Refusal(guard=Guard.FEWER_REFERENCES, message=message)
    if not found:
        message = "No reference of the clusters names this registry."
        yield Refusal(guard=Guard.NO_REFERENCES, message=message)
