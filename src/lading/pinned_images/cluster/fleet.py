"""The counts of a whole fleet, updated from changes of the caches.

A change marks the nodes that it may concern. They are counted in slices, and the event loop runs
between two slices. Call `recount` before reading facts: then they agree with the caches.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from lading.api.core import NODES, Node
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.objects import Key, Object
from lading.loop.informer import Informer, Informers
from lading.pinned_images import claims
from lading.pinned_images.cluster import rules, status
from lading.pinned_images.cluster.rules import NodeState
from lading.pinned_images.cluster.tallies import Changed, Tallies
from lading.pinned_images.cluster.types import Placement, PoolCounts, SetCounts
from lading.pinned_images.membership import Membership, set_belongs_to_pool
from lading.ports.pools import PoolFacts

NODES_PER_SLICE = 200  # about 10 ms on a slow core, where a node has 20 sets

Names = Iterable[str]
T = TypeVar("T", bound=Object)


class ClusterCaches(msgspec.Struct, frozen=True, kw_only=True):
    nodes: Informer[Node]
    pools: Informer[MachineConfigPool]
    sets: Informer[PinnedImageSet]
    machine_config_nodes: Informer[MachineConfigNode]

    @classmethod
    def of(cls, informers: Informers) -> "ClusterCaches":
        return cls(
            nodes=informers.of(NODES),
            pools=informers.of(MACHINE_CONFIG_POOLS),
            sets=informers.of(PINNED_IMAGE_SETS),
            machine_config_nodes=informers.of(MACHINE_CONFIG_NODES),
        )


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """Called with the names of objects with changed counts."""

    nodes: Callable[[Names], None]
    """Nodes with another primary pool."""
    pools: Callable[[Names], None]
    sets: Callable[[Names], None]


class Fleet:
    def __init__(self, caches: ClusterCaches) -> None:
        self._caches = caches
        self._tallies = Tallies()
        self._membership: Membership | None = None
        self._to_count: set[str] = set()
        self._is_wanted = asyncio.Event()
        self._counting = asyncio.Lock()
        self._listeners: list[Listener] = []
        self._pools_with_set = caches.pools.index(_sets_of)
        caches.nodes.add_handler(self._node_changed)
        caches.machine_config_nodes.add_handler(self._report_changed)
        caches.pools.add_handler(self._pool_changed)
        caches.sets.add_handler(self._set_changed)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def run(self) -> None:
        """Counts changed nodes until cancelled."""
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            await self.recount()

    async def recount(self) -> None:
        """Counts the marked nodes. One slice at a time, however many callers wait."""
        while self._to_count:
            async with self._counting:
                self._count_slice()
                if self._to_count:
                    await asyncio.sleep(0)

    def node_state(self, name: str) -> NodeState:
        return self._tallies.state(name)

    def pool_counts(self, name: str) -> PoolCounts:
        return self._tallies.pool_counts(name)

    def pool_facts(self, pool: str) -> PoolFacts:
        return status.pool_facts(self.pool_counts(pool), missing_sets=self._missing_sets(pool))

    def _missing_sets(self, pool: str) -> tuple[str, ...]:
        """Sets in the spec of the pool that do not exist.

        Without those that this controller assigned: it removes them a moment later.
        """
        found = self._caches.pools.get(Key("", pool))
        if found is None:
            return ()
        others = found.metadata.names_of_others(rules.FIELD_MANAGER, *rules.SETS_OF_POOL)
        named = {*_sets_of(found)} - (rules.sets_assigned_by_us(found) - others)
        return tuple(sorted(name for name in named if self._caches.sets.get(Key("", name)) is None))

    def set_counts(self, name: str) -> SetCounts:
        return self._tallies.set_counts(name)

    def every_pool(self) -> Iterable[tuple[str, PoolCounts]]:
        """The pools with nodes, by name. Empty if this process is not the leader."""
        return ((name, self.pool_counts(name)) for name in self._tallies.pools())

    def every_set(self) -> Iterable[tuple[str, SetCounts]]:
        return ((name, self.set_counts(name)) for name in self._tallies.sets())

    def selected_sets(self, pool: MachineConfigPool) -> frozenset[str]:
        """The sets that the pool selects by their labels."""
        return frozenset(
            one.metadata.name
            for one in self._caches.sets
            if not one.metadata.deletion_timestamp and set_belongs_to_pool(one, pool)
        )

    def placement(self, image_set: PinnedImageSet) -> Placement:
        """Reads all pools, so it is asked only for a set without nodes."""
        pools = _names(self._pools_with_set.find(image_set.metadata.name))
        selecting = [pool for pool in self._caches.pools if set_belongs_to_pool(image_set, pool)]
        return Placement(
            pools=pools,
            pools_have_nodes=any(self._tallies.nodes_of_pool(pool) for pool in pools),
            selecting_pools=_names(selecting),
            is_about_to_be_assigned=not pools
            and any(
                image_set.metadata.name in rules.sets_to_assign(pool, self.selected_sets(pool))
                for pool in selecting
                if not pool.is_configured_by_another_operator
            ),
        )

    def _count_slice(self) -> None:
        changed = Changed()
        if self._membership is None:
            self._membership = Membership(self._caches.pools, self._caches.sets)
        for _ in range(min(NODES_PER_SLICE, len(self._to_count))):
            name = self._to_count.pop()
            self._tallies.change(name, self._state(name, self._membership), changed)
        for pool in changed.emptied_or_filled_pools:
            changed.sets.update(self._membership.sets_named_by(pool))
        for listener in self._listeners:
            listener.nodes(changed.nodes)
            listener.pools(changed.pools)
            listener.sets(changed.sets)

    def _state(self, name: str, membership: Membership) -> NodeState | None:
        key = Key("", name)
        node = self._caches.nodes.get(key)
        if node is None:
            return None
        return rules.node_state(node, self._caches.machine_config_nodes.get(key), membership)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        """Ignores heartbeats."""
        if old is None or new is None or _counted(old) != _counted(new):
            self._count(_name(old, new))

    def _report_changed(self, old: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        if old is None or new is None or _reported(old) != _reported(new):
            self._count(_name(old, new))

    def _pool_changed(self, old: MachineConfigPool | None, new: MachineConfigPool | None) -> None:
        if old is None or new is None or old.spec.node_selector != new.spec.node_selector:
            self._membership = None
            self._count(*(key.name for key in self._caches.nodes.known_keys()))
        elif old.spec.pinned_image_sets != new.spec.pinned_image_sets:
            self._membership = None
            self._count(*self._tallies.nodes_of_pool(new.metadata.name))

    def _set_changed(self, old: PinnedImageSet | None, new: PinnedImageSet | None) -> None:
        if old is not None and new is not None and _identity(old) == _identity(new):
            return
        self._membership = None
        pools = _names(self._pools_with_set.find(_name(old, new)))
        for pool in pools:
            self._count(*self._tallies.nodes_of_pool(pool))
        if old is None or new is None:
            for listener in self._listeners:
                listener.pools(pools)

    def _count(self, *nodes: str) -> None:
        self._to_count.update(nodes)
        self._is_wanted.set()


def _name(old: T | None, new: T | None) -> str:
    one = old if new is None else new
    assert one is not None, "a change has an old or a new object"
    return one.metadata.name


def _counted(node: Node) -> tuple[object, ...]:
    """The facts of a Node that the counts depend on."""
    return node.metadata.uid, node.metadata.labels, rules.node_is_ready(node)


def _reported(report: MachineConfigNode) -> tuple[object, ...]:
    return (
        report.status.pinned_image_sets,
        rules.problem_of(report),
        report.metadata.annotations.get(claims.ANNOTATION),
        report.metadata.owner_references,
    )


def _identity(image_set: PinnedImageSet) -> tuple[object, ...]:
    metadata = image_set.metadata
    is_deleted = bool(metadata.deletion_timestamp)
    return metadata.uid, metadata.generation, image_set.spec.node_selector, is_deleted


def _sets_of(pool: MachineConfigPool) -> Names:
    return tuple(reference.name for reference in pool.spec.pinned_image_sets)


def _names(pools: Iterable[MachineConfigPool]) -> tuple[str, ...]:
    return tuple(sorted(pool.metadata.name for pool in pools))
