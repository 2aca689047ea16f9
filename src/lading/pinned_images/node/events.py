"""What a new status of a node says that the last one did not, for whoever reads events. Pure."""

import re
from collections.abc import Iterable

from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.pinned_images.node.types import RecordEvent, SetVerdict

# Not those in the name of an image.
_FIGURES = re.compile(r"(?<![\w.-])[0-9.]+(?!\w)")


def events(
    verdicts: Iterable[SetVerdict], before: MachineConfigNodeStatus, after: MachineConfigNodeStatus
) -> Iterable[RecordEvent]:
    """One when a set becomes pinned, fails in a new way, or has left no pin behind."""
    last = {entry.name: entry for entry in before.pinned_image_sets}
    new = {entry.name: entry for entry in after.pinned_image_sets}
    by_name = {verdict.desired.name: verdict for verdict in verdicts}
    for name in sorted(new.keys() & by_name.keys()):
        yield from _of_set(by_name[name], last.get(name, NodePinnedImageSet(name=name)), new[name])
    for name in sorted(last.keys() - new.keys() - by_name.keys()):
        because = "the node no longer has it"
        yield RecordEvent(set_name=name, warning=False, reason="Unpinned", because=because)


def _of_set(
    verdict: SetVerdict, last: NodePinnedImageSet, new: NodePinnedImageSet
) -> Iterable[RecordEvent]:
    generation = new.desired_generation
    if new.current_generation == generation != last.current_generation:
        because = f"generation {generation}: {len(verdict.desired.images)} images are pinned"
        yield RecordEvent(set_name=new.name, warning=False, reason="Pinned", because=because)
    if verdict.problems and _gist(new) != _gist(last):
        problem = verdict.problems[0]
        yield RecordEvent(
            set_name=new.name, warning=True, reason=problem.reason, because=problem.message
        )


def _gist(entry: NodePinnedImageSet) -> tuple[int, list[str]]:
    """The errors without their figures: other free bytes or another port make no other error."""
    errors = [_FIGURES.sub("", error) for error in entry.last_failed_generation_errors]
    return entry.last_failed_generation, errors
