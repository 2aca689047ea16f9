"""How far each node is with each of its sets, from what nodes and sets say about themselves.

A node that has not heard of a set's newest generation is not done, whatever it held before; and a
node that says nothing is missed, because the set knows how many there must be.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNode,
    NodePinnedImageSet,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.cli import output
from lading.kernel import conditions
from lading.pinned_images import claims
from lading.pinned_images.node import report
from lading.pinned_images.reasons import ConditionType, Reason

NOBODY_TO_WAIT_FOR = (Reason.NO_NODES, Reason.GATE_OFF)


class State(StrEnum):
    PINNED = "Pinned"
    PULLING = "Pulling"
    FAILED = "Failed"
    WAITING = "Waiting"
    NO_NODES = "NoNodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    node: str
    """Empty in the row of a set as a whole."""
    pool: str
    set: str
    generation: str
    state: State
    detail: str

    @property
    def is_settled(self) -> bool:
        return self.state in (State.PINNED, State.NO_NODES)


def rows(nodes: Iterable[MachineConfigNode], sets: Iterable[PinnedImageSet]) -> list[Row]:
    existing = {one.metadata.name: one for one in sets if not one.metadata.deletion_timestamp}
    found = [row for node in nodes for row in _of_node(node, existing)]
    told = Counter(row.set for row in found)
    return found + [row for name, one in existing.items() for row in _of_set(one, told[name])]


def _of_node(node: MachineConfigNode, existing: Mapping[str, PinnedImageSet]) -> Iterator[Row]:
    for entry in claims.reported(node):
        image_set = existing.get(entry.name)
        wanted = image_set.metadata.generation if image_set else entry.desired_generation
        is_another = image_set is not None and entry.uid != image_set.metadata.uid
        state = State.WAITING if is_another else _state(node, entry, wanted)
        yield Row(
            node=node.metadata.name,
            pool=node.spec.pool.name,
            set=entry.name,
            generation=f"{entry.current_generation or '-'}/{wanted}",
            state=state,
            detail=_detail(node, entry, state),
        )


def _state(node: MachineConfigNode, entry: NodePinnedImageSet, wanted: int) -> State:
    """The last error stays listed when its cause has gone; the condition then says so."""
    if entry.desired_generation != wanted:
        return State.WAITING
    if entry.current_generation == wanted:
        return State.PINNED
    failed = entry.last_failed_generation == wanted
    degraded = conditions.is_true(node.status.conditions, report.DEGRADED)
    return State.FAILED if failed and degraded else State.PULLING


def _detail(node: MachineConfigNode, entry: NodePinnedImageSet, state: State) -> str:
    match state:
        case State.FAILED:
            return next(iter(entry.last_failed_generation_errors), "it failed without a word")
        case State.PULLING:
            progressing = conditions.find(node.status.conditions, report.PROGRESSING)
            text = progressing.message if progressing else ""
            return f"{output.bar(report.progress_fraction(text))} {text}"
        case State.WAITING:
            return "the node has not heard of this generation yet; does its agent run?"
        case _:
            return ""


def _of_set(image_set: PinnedImageSet, told: int) -> Iterator[Row]:
    """What no node says: that some are silent, or that there are none."""
    silent = image_set.status.node_count - told
    if silent <= 0 and told:
        return
    state, detail = _without_nodes(image_set)
    if silent > 0:
        nodes = "1 node has" if silent == 1 else f"{silent} nodes have"
        state, detail = State.WAITING, f"{nodes} not said anything yet; do their agents run?"
    yield Row(
        node="",
        pool="",
        set=image_set.metadata.name,
        generation=f"-/{image_set.metadata.generation}",
        state=state,
        detail=detail,
    )


def _without_nodes(image_set: PinnedImageSet) -> tuple[State, str]:
    ready = conditions.find(image_set.status.conditions, ConditionType.READY)
    if ready is None or ready.observed_generation != image_set.metadata.generation:
        return State.WAITING, "the controller has not heard of this generation yet; does it run?"
    settled = ready.reason in NOBODY_TO_WAIT_FOR
    return State.NO_NODES if settled else State.WAITING, ready.message
