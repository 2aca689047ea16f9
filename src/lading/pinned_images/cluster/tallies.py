"""Counts over the nodes of every pool and every set, updated node by node. No I/O.

The cost of a change depends on the number of sets of the node, not on the number of nodes.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable

import msgspec

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.pinned_image_set import NodeFailure
from lading.pinned_images.cluster.rules import UNKNOWN_NODE, NodeState
from lading.pinned_images.cluster.types import NodeProblem, PoolCounts, SetCounts
from lading.pinned_images.reasons import Reason

NODES_NAMED_MAX = 3  # in the message of a condition
MESSAGE_CHARACTERS_MAX = 1024  # the limit of a failure's message in the API


class _PoolTally(msgspec.Struct):
    nodes: set[str] = set()
    """All nodes that the pool selects, including those that count in another pool."""
    machines: int = 0
    updated: int = 0
    ready: int = 0
    available: int = 0
    problems: dict[str, NodeProblem] = {}

    def add(self, name: str, state: NodeState, *, sign: int) -> None:
        self.machines += sign
        self.updated += sign * state.is_updated
        self.available += sign * state.is_available
        self.ready += sign * (state.is_updated and state.is_available)
        if state.problem is None:
            return
        if sign > 0:
            self.problems[name] = state.problem
        else:
            del self.problems[name]


class _SetTally(msgspec.Struct):
    nodes: int = 0
    ready: int = 0
    errors: dict[str, str] = {}


class Changed(msgspec.Struct):
    """The names of objects with changed counts."""

    nodes: set[str] = set()
    """Nodes with another primary pool."""
    pools: set[str] = set()
    emptied_or_filled_pools: set[str] = set()
    """Pools that lost their last node or got their first one."""
    sets: set[str] = set()


class Tallies:
    def __init__(self) -> None:
        self._states: dict[str, NodeState] = {}
        self._pools: dict[str, _PoolTally] = {}
        self._sets: dict[str, _SetTally] = {}

    def state(self, node: str) -> NodeState:
        return self._states.get(node, UNKNOWN_NODE)

    def pools(self) -> list[str]:
        """The pools that have nodes, by name."""
        return sorted(self._pools)

    def sets(self) -> list[str]:
        return sorted(self._sets)

    def nodes_of_pool(self, pool: str) -> Collection[str]:
        tally = self._pools.get(pool)
        return tally.nodes if tally else ()

    def pool_counts(self, pool: str) -> PoolCounts:
        tally = self._pools.get(pool)
        if tally is None:
            return PoolCounts()
        problems = tally.problems
        full = [name for name, one in problems.items() if one.reason == Reason.NO_SPACE]
        return PoolCounts(
            machine_count=tally.machines,
            updated_machine_count=tally.updated,
            ready_machine_count=tally.ready,
            available_machine_count=tally.available,
            problem_counts=tuple(sorted(Counter(one.reason for one in problems.values()).items())),
            problems=_first(problems, problems),
            no_space=_first(problems, full),
        )

    def set_counts(self, image_set: str) -> SetCounts:
        tally = self._sets.get(image_set)
        if tally is None:
            return SetCounts()
        named = heapq.nsmallest(group.ERRORS_PER_SET_MAX, tally.errors)
        return SetCounts(
            node_count=tally.nodes,
            ready_node_count=tally.ready,
            failed_node_count=len(tally.errors),
            failures=tuple(
                NodeFailure(node=name, message=tally.errors[name][:MESSAGE_CHARACTERS_MAX])
                for name in named
            ),
        )

    def change(self, name: str, new: NodeState | None, changed: Changed) -> None:
        """`new` is None if the node is gone."""
        old = self.state(name)
        if new is None:
            self._states.pop(name, None)
            new = UNKNOWN_NODE
        else:
            self._states[name] = new
        if old != new:
            self._change_pools(name, old, new, changed)
            self._change_sets(name, old, new, changed)

    def _change_pools(self, name: str, old: NodeState, new: NodeState, changed: Changed) -> None:
        if old.primary_pool != new.primary_pool:
            changed.nodes.add(name)
        if _in_pool(old) != _in_pool(new):
            for state, sign in ((old, -1), (new, 1)):
                if state.pools:
                    self._pool(state.primary_pool).add(name, state, sign=sign)
                    changed.pools.add(state.primary_pool)
        for pool in {*old.pools} - {*new.pools}:
            nodes = self._pool(pool).nodes
            nodes.remove(name)
            if not nodes:
                changed.emptied_or_filled_pools.add(pool)
                del self._pools[pool]
        for pool in {*new.pools} - {*old.pools}:
            nodes = self._pool(pool).nodes
            if not nodes:
                changed.emptied_or_filled_pools.add(pool)
            nodes.add(name)

    def _change_sets(self, name: str, old: NodeState, new: NodeState, changed: Changed) -> None:
        for image_set in new.sets - old.sets:
            self._set(image_set, changed).nodes += 1
        for image_set in new.ready_sets - old.ready_sets:
            self._set(image_set, changed).ready += 1
        for image_set in old.ready_sets - new.ready_sets:
            self._set(image_set, changed).ready -= 1
        for image_set in old.errors.keys() | new.errors.keys():
            before, after = old.errors.get(image_set), new.errors.get(image_set)
            if after is None:
                del self._set(image_set, changed).errors[name]
            elif before != after:
                self._set(image_set, changed).errors[name] = after
        for image_set in old.sets - new.sets:
            tally = self._set(image_set, changed)
            tally.nodes -= 1
            if not tally.nodes:
                del self._sets[image_set]

    def _pool(self, name: str) -> _PoolTally:
        return self._pools.setdefault(name, _PoolTally())

    def _set(self, name: str, changed: Changed) -> _SetTally:
        changed.sets.add(name)
        return self._sets.setdefault(name, _SetTally())


def _in_pool(state: NodeState) -> tuple[object, ...]:
    """All facts that the primary pool counts."""
    return state.primary_pool, state.is_updated, state.is_available, state.problem


def _first(problems: dict[str, NodeProblem], names: Iterable[str]) -> tuple[NodeProblem, ...]:
    return tuple(problems[name] for name in heapq.nsmallest(NODES_NAMED_MAX, names))
