"""Wires the cluster's controllers of nodes, pools and sets over the same caches."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

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
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.controller import Controller, own_key
from lading.loop.informer import Informer, Informers
from lading.pinned_images.cluster import apply, plan
from lading.pinned_images.cluster.apply import ClusterAction
from lading.pinned_images.cluster.types import World, WritePoolStatus, WriteSetStatus
from lading.ports.clock import Clock
from lading.ports.kube import Kube

SETTLE_SECONDS = 1.0  # many nodes report close together; one count serves them all

T = TypeVar("T", bound=Object)
Planner = Callable[[str, World, datetime], Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    nodes: Informer[Node]
    pools: Informer[MachineConfigPool]
    sets: Informer[PinnedImageSet]
    machine_config_nodes: Informer[MachineConfigNode]

    @classmethod
    def of(cls, informers: Informers) -> "Caches":
        return cls(
            nodes=informers.of(NODES),
            pools=informers.of(MACHINE_CONFIG_POOLS),
            sets=informers.of(PINNED_IMAGE_SETS),
            machine_config_nodes=informers.of(MACHINE_CONFIG_NODES),
        )


class ClusterReconciler:
    """One reconcile pipeline: the key's name goes to its planner, with the caches as they are."""

    def __init__(
        self, *, planner: Planner, kube: Kube, clock: Clock, caches: Caches, is_on: bool
    ) -> None:
        """Switched off, our entries are taken back from the pools, so that nodes unpin."""
        self._planner = planner
        self._kube = kube
        self._clock = clock
        self._caches = caches
        self._is_on = is_on
        self._written: dict[str, Object] = {}
        self._written_at: dict[str, datetime] = {}

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> tuple[str, World]:
        world = World(
            nodes=tuple(self._caches.nodes),
            pools=self._newest(self._caches.pools),
            sets=self._newest(self._caches.sets),
            machine_config_nodes=self._newest(self._caches.machine_config_nodes),
            written_at=self._written_at.get(key.name),
            is_on=self._is_on,
        )
        return key.name, world

    def plan(self, observed: tuple[str, World], now: datetime) -> Plan:
        return self._planner(*observed, now)

    async def apply(self, action: ClusterAction) -> None:
        with pipeline.precondition(type(action).__name__):
            written = await apply.apply(action, self._kube)
        if written is not None:
            self._written[written.metadata.name] = self._newer(written)
        match action:
            case WritePoolStatus(pool=name) | WriteSetStatus(image_set=name):
                self._written_at[name] = self._clock.now()
            case _:
                pass

    def _newest(self, cached: Iterable[T]) -> tuple[T, ...]:
        """As cached, but for what we wrote ourselves and the cache does not show yet."""
        return tuple(self._newer(one) for one in cached)

    def _newer(self, one: T) -> T:
        """Ours, until the cache shows it or something newer; then it is forgotten."""
        ours = self._written.get(one.metadata.name)
        if not isinstance(ours, type(one)):
            return one
        if ours.metadata.uid == one.metadata.uid and _revision(ours) > _revision(one):
            return ours
        del self._written[one.metadata.name]
        return one


def _revision(one: Object) -> int:
    return int(one.metadata.resource_version or 0)


def plan_node(name: str, world: World, now: datetime) -> Plan:
    return plan.plan_node(name, world)


PLANNERS: dict[str, Planner] = {
    "pinned-images-nodes": plan_node,
    "pinned-images-pools": plan.plan_pool,
    "pinned-images-sets": plan.plan_set,
}


def watch(controllers: dict[str, Controller], caches: Caches) -> None:
    """Nodes are planned one by one; pools and sets count nodes, so changes are let settle."""
    nodes = controllers["pinned-images-nodes"]
    nodes.watch(caches.nodes, own_key)
    nodes.watch(caches.machine_config_nodes, own_key)
    nodes.watch(caches.pools, lambda old, new: _all(caches.nodes) if _moved(old, new) else ())
    for name, keys in (
        ("pinned-images-pools", lambda: {*_all(caches.pools), *_DEFAULT_POOLS}),
        ("pinned-images-sets", lambda: _all(caches.sets)),
    ):
        _count_nodes(controllers[name], caches, keys)


_DEFAULT_POOLS = {Key("", name) for name in plan.DEFAULT_POOLS}


def _count_nodes(controller: Controller, caches: Caches, keys: Callable[[], Iterable[Key]]) -> None:
    def every(old: object, new: object) -> Iterable[Key]:
        return keys()

    def every_if_it_matters(old: Node | None, new: Node | None) -> Iterable[Key]:
        return keys() if _node_matters(old, new) else ()

    controller.watch(caches.nodes, every_if_it_matters, settle_seconds=SETTLE_SECONDS)
    controller.watch(caches.machine_config_nodes, every, settle_seconds=SETTLE_SECONDS)
    controller.watch(caches.pools, every)
    controller.watch(caches.sets, every)


def _all(informer: Informer[Any]) -> Iterable[Key]:
    return tuple(informer.known_keys())


def _moved(old: MachineConfigPool | None, new: MachineConfigPool | None) -> bool:
    """Whether nodes may have come into the pool or left it; its status does not matter."""
    return old is None or new is None or old.spec.node_selector != new.spec.node_selector


def _node_matters(old: Node | None, new: Node | None) -> bool:
    """A heartbeat changes nothing that is counted."""
    if old is None or new is None:
        return True
    return old.metadata.labels != new.metadata.labels or _readiness(old) != _readiness(new)


def _readiness(node: Node) -> list[str]:
    return [one.status.value for one in node.status.conditions if one.type == "Ready"]
