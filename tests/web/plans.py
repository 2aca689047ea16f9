"""Plan files of pruning, to look at."""

from pathlib import Path

from lading.pruning.engine.decisions import plan_contents, plan_file
from tests.pruning import builders
from tests.pruning.builders import pod
from tests.pruning.registry_worlds import APP, CHAIN, GO


def write_contents(file: Path, *, is_used: bool = True) -> Path:
    """A plan of a registry with one image that a pod uses, and all that the registry holds."""
    objects = (pod(f"{APP}:v1", name="web"),) if is_used else ()
    plan = builders.plan(CHAIN, *objects, policy=GO)
    with file.open("wb") as target:
        target.writelines(plan_file.lines(plan))
        target.writelines(plan_contents.lines(plan, CHAIN, builders.used(objects)))
    return file
