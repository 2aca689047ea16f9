"""How far a node is, in numbers, for whoever asks the agent itself. Pure.

The status says the same more rarely: it is written for the cluster, and every write costs.
"""

from lading.kernel.objects import Model
from lading.pinned_images.node import admission, plan, rules
from lading.pinned_images.node.types import Budget, Desired, Observed, SetVerdict


class SetProgress(Model, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    generation: int
    state: str
    image_count: int
    missing: tuple[str, ...]
    errors: tuple[str, ...]


class PullProgress(Model, frozen=True, kw_only=True, omit_defaults=False):
    image: str
    running: bool
    attempts: int
    error: str = ""


class Storage(Model, frozen=True, kw_only=True, omit_defaults=False):
    capacity_bytes: int
    free_bytes: int
    reserve_bytes: int
    reserve_reason: str


class Progress(Model, frozen=True, kw_only=True, omit_defaults=False):
    node: str
    image_count: int
    present_count: int
    bytes_wanted: int
    bytes_missing: int
    sets: tuple[SetProgress, ...]
    pulls: tuple[PullProgress, ...]
    storage: Storage | None


def progress(desired: Desired, observed: Observed) -> Progress:
    wanted = {key for image_set in desired.sets for key in image_set.images}
    missing = wanted - observed.images.keys()
    _, refusals = admission.admit_by_storage(desired, observed)
    layers_to_come = rules.layers_of(missing, observed) - rules.layers_present(observed)
    return Progress(
        node=desired.node_name,
        image_count=len(wanted),
        present_count=len(wanted) - len(missing),
        bytes_wanted=rules.bytes_of(rules.layers_of(wanted, observed)),
        bytes_missing=rules.bytes_of(layers_to_come),
        sets=tuple(_set(verdict) for verdict in plan.verdicts(desired, observed, refusals)),
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
    return SetProgress(
        name=verdict.desired.name,
        generation=verdict.desired.generation,
        state=verdict.state,
        image_count=len(verdict.desired.images),
        missing=tuple(map(str, verdict.missing)),
        errors=tuple(problem.message for problem in verdict.problems),
    )


def _storage(budget: Budget | None) -> Storage | None:
    if budget is None:
        return None
    return Storage(
        capacity_bytes=budget.capacity_bytes,
        free_bytes=budget.free_bytes,
        reserve_bytes=budget.reserve_bytes,
        reserve_reason=budget.reserve_reason,
    )
