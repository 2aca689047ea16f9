"""One row for each set of each node, from the statuses of nodes and sets. Pure.

A node that does not report the newest generation of a set is not done. A node that must hold a
set and does not report it gets a row. If nodes cannot be listed, the status of the set has their
count. The answer of an agent only adds progress: it never makes a row Pinned.
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
from lading.kernel.values import replace
from lading.pinned_images import claims
from lading.pinned_images.membership import Membership
from lading.pinned_images.reasons import ConditionType, Reason
from lading.pinned_images.types import Progress, SetProgress, SetState

NODES_ASKED_MAX = 50
"""Agents that are asked at a time: one request each, and a longer table is hard to follow."""
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
    """Of the set; 0 if the node does not report the count."""
    present: int
    """Images of the set that are on the node."""
    missing_bytes: int
    """Still to pull, as far as sizes are known."""
    detail: str
    reason: str = ""
    """Of the node's condition, if only this set failed on the node."""
    attempt: int = 0
    """Of the running pulls, or of the next one."""
    next_pull_time: str = ""
    last_error: str = ""
    """Of this generation. It stays while the node retries."""
    is_live: bool = False
    """The node's agent answered. Only then are the following fields known."""
    bytes_done: int | None = None
    bytes_total: int | None = None
    bytes_per_second: int = 0
    ends_at: str = ""
    """Estimated. Empty while no bytes arrive."""

    @property
    def is_settled(self) -> bool:
        return self.state in (RowState.PINNED, RowState.NO_NODES)

    @property
    def needs_detail(self) -> bool:
        if self.state is RowState.PULLING:
            return bool(self.last_error)
        return bool(self.detail) and self.state is not RowState.PINNED


class RowChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The sets and nodes to show; empty means all."""

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
    """One sentence for each name that does not exist."""
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
    """A node of `must_hold` that does not report its set gets a row too."""
    existing = by_name(sets)
    found = rows_of_nodes(nodes, existing, must_hold)
    reports = Counter(row.set for row in found)
    return found + [row for name, one in existing.items() for row in row_of_set(one, reports[name])]


def by_name(sets: Iterable[PinnedImageSet]) -> dict[str, PinnedImageSet]:
    """Without sets that are being deleted."""
    return {one.metadata.name: one for one in sets if not one.metadata.deletion_timestamp}


def rows_of_nodes(
    nodes: Iterable[MachineConfigNode],
    existing: Mapping[str, PinnedImageSet],
    must_hold: Iterable[NodeThatHolds],
) -> list[Row]:
    """Sorted by node and set. Without the rows that are about a whole set."""
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
    """The last error stays listed after its cause ends, but then the condition is False."""
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
    """Empty if several sets failed: the condition has one reason, perhaps of another set."""
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
    """The CRD of another owner may drop the counts. Then the message of the node is shown."""
    if not entry.image_count:
        progressing = conditions.find(node.status.conditions, ConditionType.SETS_PROGRESSING)
        return progressing.message if progressing else ""
    text = f"{entry.present_image_count} of {entry.image_count} images are on the node"
    missing = quantities.format_bytes(entry.missing_bytes)
    return f"{text}, {missing} to pull" if entry.missing_bytes else text


def row_of_set(image_set: PinnedImageSet, reports: int) -> Iterator[Row]:
    """A row if nodes do not report the set, or if there are none."""
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


_UNFINISHED = (RowState.PULLING, RowState.FAILED)


def nodes_to_ask(found: Iterable[Row]) -> list[str]:
    """At most `NODES_ASKED_MAX` nodes with a set that is not done."""
    names = {row.node for row in found if row.node and row.state in _UNFINISHED}
    return sorted(names)[:NODES_ASKED_MAX]


def with_progress(found: Iterable[Row], progress: Mapping[str, Progress]) -> list[Row]:
    """`progress` is by node name. The row of a node without an answer stays as it is."""
    sets = {(node, one.name): one for node, answer in progress.items() for one in answer.sets}
    return [_live(row, sets.get((row.node, row.set))) for row in found]


def _live(row: Row, one: SetProgress | None) -> Row:
    if one is None or row.state not in _UNFINISHED:
        return row
    if row.generation.rpartition("/")[2] != str(one.generation):
        return row
    left = row.missing_bytes
    if one.bytes_total is not None and one.bytes_done is not None:
        left = one.bytes_total - one.bytes_done
    return replace(
        row,
        state=RowState.PULLING if one.state == SetState.PULLING else row.state,
        images=one.image_count,
        present=one.present_count,
        missing_bytes=left,
        attempt=one.attempt,
        next_pull_time=one.next_try_at,
        is_live=True,
        bytes_done=one.bytes_done,
        bytes_total=one.bytes_total,
        bytes_per_second=one.bytes_per_second,
        ends_at=one.ends_at,
    )
