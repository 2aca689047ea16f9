"""What a new status of a node reports that the last one did not, as events. Pure."""

from collections.abc import Iterable

from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.pinned_images.node.types import (
    ObservedNodeImages,
    RecordNodeEvent,
    ReportedProblems,
    SetVerdict,
)
from lading.pinned_images.reasons import EventReason


def events(
    verdicts: Iterable[SetVerdict], observed: ObservedNodeImages, after: MachineConfigNodeStatus
) -> Iterable[RecordNodeEvent]:
    """One when a set becomes pinned, fails in a new way, or has no pin left."""
    last = {entry.name: entry for entry in observed.last_status.pinned_image_sets}
    new = {entry.name: entry for entry in after.pinned_image_sets}
    by_name = {verdict.desired.name: verdict for verdict in verdicts}
    for name in sorted(new.keys() & by_name.keys()):
        before = last.get(name, NodePinnedImageSet(name=name))
        yield from _of_set(by_name[name], before, new[name], observed.reported_problems)
    for name in sorted(last.keys() - new.keys() - by_name.keys()):
        because = "it no longer applies to this node, and its pins are removed"
        yield RecordNodeEvent(
            set_name=name, warning=False, reason=EventReason.UNPINNED, because=because
        )


def _of_set(
    verdict: SetVerdict,
    last: NodePinnedImageSet,
    new: NodePinnedImageSet,
    reported: ReportedProblems | None,
) -> Iterable[RecordNodeEvent]:
    generation = new.desired_generation
    if new.current_generation == generation != last.current_generation:
        because = f"generation {generation}: {len(verdict.desired.images)} images are pinned"
        yield RecordNodeEvent(
            set_name=new.name, warning=False, reason=EventReason.PINNED, because=because
        )
    if verdict.problems and _fails_in_a_new_way(verdict, last, reported):
        problem = verdict.problems[0]
        yield RecordNodeEvent(
            set_name=new.name, warning=True, reason=problem.reason, because=problem.message
        )


def _fails_in_a_new_way(
    verdict: SetVerdict, last: NodePinnedImageSet, reported: ReportedProblems | None
) -> bool:
    """After a restart, the failure of a generation counts as reported by the process before."""
    if last.last_failed_generation != verdict.desired.generation:
        return True
    if reported is None:
        return False
    problems = frozenset(problem.id for problem in verdict.problems)
    return reported.get(verdict.desired.name, frozenset()) != problems
