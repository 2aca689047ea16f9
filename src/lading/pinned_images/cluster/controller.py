"""The reconcilers of nodes, of the sets of pools and of sets, and the objects that wake them."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.objects import Key, Object
from lading.kernel.pacing import Pacing
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop import pipeline
from lading.loop.controller import Controller, Mapping, Reconcile, own_key
from lading.loop.informer import Informer
from lading.loop.reconciler import ObjectReconciler, ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.pinned_images.cluster import apply, plan
from lading.pinned_images.cluster.apply import ClusterAction
from lading.pinned_images.cluster.fleet import ClusterCaches, Fleet, Listener
from lading.pinned_images.cluster.types import (
    ObservedNode,
    ObservedPoolSets,
    ObservedSet,
    Placement,
    WriteSetStatus,
)
from lading.ports.clock import Clock
from lading.ports.kube import Kube

T = TypeVar("T", bound=Object)
Observed = TypeVar("Observed")
NODES, POOLS, SETS = "pinned-images-nodes", "pinned-images-pools", "pinned-images-sets"
NAMES = (NODES, POOLS, SETS)
_DEFAULT_POOLS = {Key("", name) for name in plan.DEFAULT_POOLS}


class FleetTools(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments that all reconcilers of the fleet share."""

    caches: ClusterCaches
    fleet: Fleet
    kube: Kube
    clock: Clock
    recorder: EventRecorder
    is_on: bool
    """If it is off, our sets are removed from the pools, so that nodes unpin."""
    pacing: Pacing


class FleetReconciler(ObjectReconciler[T, Observed]):
    """Reads facts from the fleet after a count, and remembers its own writes."""

    event_action = "SynchronizePinnedImageSets"

    def __init__(self, informer: Informer[T], tools: FleetTools) -> None:
        super().__init__(informer=informer, clock=tools.clock, recorder=tools.recorder)
        self._informer = informer
        self._fleet = tools.fleet
        self._kube = tools.kube
        self._is_on = tools.is_on
        self._pacing = tools.pacing

    async def observe(self, key: Key) -> Observed:
        await self._fleet.recount()
        return self._facts(key)

    async def apply(self, action: ClusterAction) -> None:
        with pipeline.precondition(type(action).__name__):
            written = await apply.apply(action, self._kube)
        if written is not None:
            self._remember(written)
            if isinstance(action, WriteSetStatus):
                self.status_written(written.key)

    @abstractmethod
    def _facts(self, key: Key) -> Observed:
        """Must not await: caches and counts agree only until then."""

    def _remember(self, written: Any) -> None:
        self._objects.add(written)


class MachineConfigNodeReconciler(FleetReconciler[Node, ObservedNode | None]):
    """Keeps a MachineConfigNode for every Node."""

    def __init__(self, tools: FleetTools) -> None:
        super().__init__(tools.caches.nodes, tools)
        self._pools = tools.caches.pools
        self._machine_config_nodes: ReadYourWrites[MachineConfigNode] = ReadYourWrites(
            tools.caches.machine_config_nodes, tools.clock
        )

    def plan(self, observed: ObservedNode | None, now: datetime) -> Plan:
        return plan.plan_node(observed) if observed else Plan()

    def _facts(self, key: Key) -> ObservedNode | None:
        node = self._informer.get(key)
        if node is None:
            return None
        return ObservedNode(
            node=node,
            primary_pool=self._fleet.node_state(key.name).primary_pool,
            default_pools_exist=all(self._pools.get(Key("", one)) for one in plan.DEFAULT_POOLS),
            machine_config_node=self._machine_config_nodes.get(key),
        )

    def _remember(self, written: Any) -> None:
        self._machine_config_nodes.add(written)


class PoolSetsReconciler(FleetReconciler[MachineConfigPool, ObservedPoolSets | None]):
    """Creates the default pools, and assigns sets to pools."""

    def __init__(self, tools: FleetTools) -> None:
        super().__init__(tools.caches.pools, tools)

    def plan(self, observed: ObservedPoolSets | None, now: datetime) -> Plan:
        return plan.plan_pool(observed) if observed else Plan()

    def _facts(self, key: Key) -> ObservedPoolSets | None:
        newest = self._objects.get(key)
        if newest is None:
            return ObservedPoolSets(name=key.name, pool=None)
        if self._informer.get(key) is None:
            return None  # just created; the key comes again when the cache has the pool
        return ObservedPoolSets(
            name=key.name,
            pool=newest,
            selected_sets=self._fleet.selected_sets(newest),
            is_on=self._is_on,
        )


class SetReconciler(FleetReconciler[PinnedImageSet, ObservedSet | None]):
    """Writes the status of sets."""

    def __init__(self, tools: FleetTools) -> None:
        super().__init__(tools.caches.sets, tools)

    def plan(self, observed: ObservedSet | None, now: datetime) -> Plan:
        return plan.plan_set(observed, now) if observed else Plan()

    def _facts(self, key: Key) -> ObservedSet | None:
        counted, newest = self._informer.get(key), self._objects.get(key)
        if counted is None or newest is None:
            return None
        counts = self._fleet.set_counts(key.name)
        return ObservedSet(
            image_set=_with_status_of(counted, newest),
            counts=counts,
            placement=Placement() if counts.node_count else self._fleet.placement(counted),
            status_at=self.status_at(key),
            is_on=self._is_on,
            pacing=self._pacing,
        )


def _with_status_of(counted: PinnedImageSet, newest: PinnedImageSet) -> PinnedImageSet:
    revision = newest.metadata.resource_version
    metadata = replace(counted.metadata, resource_version=revision)
    return replace(counted, metadata=metadata, status=newest.status)


def reconciles(tools: FleetTools) -> dict[str, Reconcile]:
    """The reconcile function of each controller, by its name."""
    return {
        NODES: MachineConfigNodeReconciler(tools).reconcile,
        POOLS: PoolSetsReconciler(tools).reconcile,
        SETS: SetReconciler(tools).reconcile,
    }


def watch(
    controllers: dict[str, Controller],
    caches: ClusterCaches,
    fleet: Fleet,
    debounce_seconds: float,
    *,
    pools_counted: Callable[[Iterable[str]], None],
) -> None:
    """`pools_counted` is called with the pools that have other counts.

    A pool waits for further new sets, because every agent receives each change of a pool.
    """
    nodes, pools, sets = (controllers[name] for name in NAMES)
    nodes.watch(caches.nodes, _own_key_if_changed(lambda node: node.metadata.uid))
    nodes.watch(caches.machine_config_nodes, _own_key_if_changed(_applied))
    nodes.watch(caches.pools, lambda old, _: caches.nodes.known_keys() if old is None else ())
    pools.watch(caches.nodes, lambda old, new: _DEFAULT_POOLS if old is None else ())
    pools.watch(caches.pools, own_key)
    pools.watch(
        caches.sets,
        _all_if_changed(_selectable, lambda: {*caches.pools.known_keys(), *_DEFAULT_POOLS}),
        debounce_seconds=2 * debounce_seconds,
    )
    sets.watch(caches.sets, own_key)
    sets.watch(
        caches.pools, _all_if_changed(lambda pool: pool.spec, lambda: caches.sets.known_keys())
    )
    fleet.listen(
        Listener(
            nodes=lambda names: nodes.wake(*_keys(names)),
            pools=pools_counted,
            sets=lambda names: sets.wake(*_keys(names), debounce_seconds=debounce_seconds),
        )
    )


def _keys(names: Iterable[str]) -> Iterable[Key]:
    return (Key("", name) for name in names)


def _applied(found: MachineConfigNode) -> object:
    """The fields that `ApplyMachineConfigNode` writes."""
    return found.spec, found.metadata.owner_references


def _selectable(image_set: PinnedImageSet) -> object:
    """The fields that decide which pools get the set."""
    return image_set.metadata.labels, bool(image_set.metadata.deletion_timestamp)


def _own_key_if_changed(facts: Callable[[T], object]) -> Mapping[T]:
    return lambda old, new: own_key(old, new) if _differ(facts, old, new) else ()


def _all_if_changed(facts: Callable[[T], object], every: Callable[[], Iterable[Key]]) -> Mapping[T]:
    return lambda old, new: tuple(every()) if _differ(facts, old, new) else ()


def _differ(facts: Callable[[T], object], old: T | None, new: T | None) -> bool:
    return old is None or new is None or facts(old) != facts(new)
