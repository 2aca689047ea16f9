"""How far each node is with each of its sets, from the reports of nodes and sets. Pure.

A node that does not report the newest generation of a set is not done, whatever it had before. A
node that must hold a set and does not report it is named; where nodes cannot be listed, the set
still knows how many there must be.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNode,
    NodePinnedImageSet,
)
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import conditions, quantities
from lading.kernel.objects import Object
from lading.pinned_images import claims
from lading.pinned_images.reasons import ConditionType, Reason
from lading.pinned_images.rules import Membership

_SETTLED_REASONS = (Reason.NO_NODES, Reason.GATE_OFF)


class RowState(StrEnum):
    PINNED = "Pinned"
    """All images are present and pinned."""
    PULLING = "Pulling"
    """Images are being pulled."""
    FAILED = "Failed"
    """The node reports an error."""
    WAITING = "Waiting"
    """The node has not reported about this generation."""
    NO_NODES = "NoNodes"
    """No node gets the set."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    """Empty in the row of a set as a whole."""
    pool: str
    set: str
    generation: str
    state: RowState
    images: int
    """Of the set; 0 when the node does not report it."""
    present: int
    """Those of them that are on the node."""
    missing_bytes: int
    """Still to pull, as far as the node knows."""
    detail: str
    reason: str = ""
    """That of the node's condition, when this is the one set that failed there."""
    attempt: int = 0
    """Of the pulls that run, or of the next one."""
    next_pull_time: str = ""
    last_error: str = ""
    """Of this generation; it stays while the node tries again."""
    is_live: bool = False
    """The node's agent answered just now; what follows is known then only."""
    bytes_done: int | None = None
    bytes_total: int | None = None
    bytes_per_second: int = 0
    ends_at: str = ""
    """Estimated; empty while nothing arrives."""

    @property
    def is_settled(self) -> bool:
        return self.state in (RowState.PINNED, RowState.NO_NODES)

    @property
    def needs_detail(self) -> bool:
        if self.state is RowState.PULLING:
            return bool(self.last_error)
        return bool(self.detail) and self.state is not RowState.PINNED


class RowChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The sets and nodes that are asked for; none means all."""

    sets: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()

    def has(self, row: Row) -> bool:
        is_set = not self.sets or row.set in self.sets
        return is_set and (not self.nodes or row.node in self.nodes)


ALL = RowChoice()


class NodeThatHolds(msgspec.Struct, frozen=True, kw_only=True):
    """A node that must hold a set."""

    node: str
    pool: str
    set: str


def expected(
    nodes: Iterable[Object], pools: Iterable[MachineConfigPool], sets: Iterable[PinnedImageSet]
) -> list[NodeThatHolds]:
    membership = Membership(pools, sets)
    return [one for node in nodes for one in expected_of(node, membership)]


def expected_of(node: Object, membership: Membership) -> list[NodeThatHolds]:
    """The sets of one Node."""
    labels = node.metadata.labels
    pools = membership.pools_of(labels)
    if not pools:
        return []
    return [
        NodeThatHolds(node=node.metadata.name, pool=pools[0], set=name)
        for name in sorted(membership.sets_of(pools, labels))
    ]


def unknown_names(
    chosen: RowChoice,
    *,
    reports: Iterable[MachineConfigNode],
    sets: Iterable[PinnedImageSet],
    nodes: Iterable[Object],
) -> list[str]:
    """A sentence for each name that nothing has."""
    reports = tuple(reports)
    known_sets = {one.metadata.name for one in sets}
    known_sets |= {entry.name for one in reports for entry in claims.reported(one)}
    known_nodes = {one.metadata.name for one in (*reports, *nodes)}
    return [
        *(f"there is no PinnedImageSet {name}" for name in sorted(chosen.sets - known_sets)),
        *(f"there is no node {name}" for name in sorted(chosen.nodes - known_nodes)),
    ]


def rows(
    nodes: Iterable[MachineConfigNode],
    sets: Iterable[PinnedImageSet],
    *,
    must_hold: Iterable[NodeThatHolds] = (),
) -> list[Row]:
    """A node of `must_hold` that does not report its set gets a row of its own."""
    existing = by_name(sets)
    found = rows_of_nodes(nodes, existing, must_hold)
    reports = Counter(row.set for row in found)
    return found + [row for name, one in existing.items() for row in row_of_set(one, reports[name])]


def by_name(sets: Iterable[PinnedImageSet]) -> dict[str, PinnedImageSet]:
    """Those that are not being deleted."""
    return {one.metadata.name: one for one in sets if not one.metadata.deletion_timestamp}


def rows_of_nodes(
    nodes: Iterable[MachineConfigNode],
    existing: Mapping[str, PinnedImageSet],
    must_hold: Iterable[NodeThatHolds],
) -> list[Row]:
    """By node and set; without the rows of sets as a whole."""
    found = [row for node in nodes for row in _of_node(node, existing)]
    reporting = {(row.node, row.set) for row in found}
    found += [
        _silent(one, existing[one.set]) for one in must_hold if (one.node, one.set) not in reporting
    ]
    return sorted(found, key=lambda row: (row.node, row.set))


def _silent(one: NodeThatHolds, image_set: PinnedImageSet) -> Row:
    return Row(
        node=one.node,
        pool=one.pool,
        set=one.set,
        generation=f"-/{image_set.metadata.generation}",
        state=RowState.WAITING,
        images=len(image_set.spec.pinned_images),
        present=0,
        missing_bytes=0,
        detail="the node does not report this set yet; check that its agent runs",
    )


def _of_node(node: MachineConfigNode, existing: Mapping[str, PinnedImageSet]) -> Iterator[Row]:
    for entry in claims.reported(node):
        image_set = existing.get(entry.name)
        wanted = image_set.metadata.generation if image_set else entry.desired_generation
        is_another = image_set is not None and entry.uid != image_set.metadata.uid
        state = RowState.WAITING if is_another else _state(node, entry, wanted)
        yield Row(
            node=node.metadata.name,
            pool=node.spec.pool.name,
            set=entry.name,
            generation=f"{entry.current_generation or '-'}/{wanted}",
            state=state,
            images=entry.image_count,
            present=entry.present_image_count,
            missing_bytes=entry.missing_bytes,
            detail=_detail(node, entry, state),
            reason=_reason(node) if state is RowState.FAILED else "",
            attempt=entry.pull_attempt,
            next_pull_time=entry.next_pull_time,
            last_error=_last_error(entry, wanted, state),
        )


def _state(node: MachineConfigNode, entry: NodePinnedImageSet, wanted: int) -> RowState:
    """The last error stays listed when its cause has gone; the condition is then False."""
    if entry.desired_generation != wanted:
        return RowState.WAITING
    if entry.current_generation == wanted:
        return RowState.PINNED
    if entry.pulling_image_count:
        return RowState.PULLING
    failed = entry.last_failed_generation == wanted
    degraded = conditions.is_true(node.status.conditions, ConditionType.SETS_DEGRADED)
    return RowState.FAILED if failed and degraded else RowState.PULLING


def _detail(node: MachineConfigNode, entry: NodePinnedImageSet, state: RowState) -> str:
    match state:
        case RowState.FAILED:
            error = next(
                iter(entry.last_failed_generation_errors),
                "the node reports a failure without a message",
            )
            again = f"; attempt {entry.pull_attempt} at {entry.next_pull_time}"
            return f"{error.removesuffix('.')}{again}" if entry.next_pull_time else error
        case RowState.PULLING:
            again = f", attempt {entry.pull_attempt}" if entry.pull_attempt > 1 else ""
            return f"{_progress(node, entry)}{again}"
        case RowState.WAITING:
            return "the node does not report this generation yet; check that its agent runs"
        case _:
            return ""


def _reason(node: MachineConfigNode) -> str:
    """Empty where several sets failed: a condition has one reason, and it may be of another."""
    failed = [
        one for one in claims.reported(node) if one.last_failed_generation > one.current_generation
    ]
    degraded = conditions.find(node.status.conditions, ConditionType.SETS_DEGRADED)
    return degraded.reason if degraded and len(failed) == 1 else ""


def _last_error(entry: NodePinnedImageSet, wanted: int, state: RowState) -> str:
    if state is RowState.PINNED or entry.last_failed_generation != wanted:
        return ""
    return next(iter(entry.last_failed_generation_errors), "")


def _progress(node: MachineConfigNode, entry: NodePinnedImageSet) -> str:
    """A definition of another owner may drop the counts; then the node's own sentence is shown."""
    if not entry.image_count:
        progressing = conditions.find(node.status.conditions, ConditionType.SETS_PROGRESSING)
        return progressing.message if progressing else ""
    text = f"{entry.present_image_count} of {entry.image_count} images are on the node"
    missing = quantities.format_bytes(entry.missing_bytes)
    return f"{text}, {missing} to pull" if entry.missing_bytes else text


def row_of_set(image_set: PinnedImageSet, reports: int) -> Iterator[Row]:
    """What no node reports: that some nodes are missing, or that there are none."""
    missing = image_set.status.node_count - reports
    if missing <= 0 and reports:
        return
    state, detail = _without_nodes(image_set)
    if missing > 0:
        nodes = "1 node does" if missing == 1 else f"{missing} nodes do"
        state, detail = (
            RowState.WAITING,
            f"{nodes} not report this set yet; check that the agents run",
        )
    yield Row(
        node="",
        pool="",
        set=image_set.metadata.name,
        generation=f"-/{image_set.metadata.generation}",
        state=state,
        images=len(image_set.spec.pinned_images),
        present=0,
        missing_bytes=0,
        detail=detail,
    )


def _without_nodes(image_set: PinnedImageSet) -> tuple[RowState, str]:
    ready = conditions.find(image_set.status.conditions, ConditionType.READY)
    if ready is None or ready.observed_generation != image_set.metadata.generation:
        return (
            RowState.WAITING,
            "the controller has not observed this generation; check that it runs",
        )
    settled = ready.reason in _SETTLED_REASONS
    return RowState.NO_NODES if settled else RowState.WAITING, ready.message
