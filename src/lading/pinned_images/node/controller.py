"""The reconcile pipeline of a node, and the objects that wake it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from lading.api.core import NODES, RUNTIME_CLASSES, Node, RuntimeClass
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
    MachineConfigNodeStatus,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.objects import Key
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.values import replace
from lading.loop import pipeline
from lading.loop.controller import Controller
from lading.loop.informer import Informer, Informers
from lading.loop.reconciler import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.pinned_images import claims, membership
from lading.pinned_images.node import desired_state, observe, progress
from lading.pinned_images.node import plan as policy
from lading.pinned_images.node.apply import NodeAction, NodeActions, StatusWriter
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.types import (
    Desired,
    ObservedNodeImages,
    PinSettings,
)
from lading.pinned_images.types import Progress
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection


class NodeCaches(msgspec.Struct, frozen=True, kw_only=True):
    nodes: Informer[Node]
    pools: Informer[MachineConfigPool]
    sets: Informer[PinnedImageSet]
    machine_config_nodes: Informer[MachineConfigNode]
    runtime_classes: Informer[RuntimeClass]

    @classmethod
    def of(cls, informers: Informers, node_name: str) -> "NodeCaches":
        own = Selection(field_selector=f"metadata.name={node_name}")
        return cls(
            nodes=informers.of(NODES, own),
            pools=informers.of(MACHINE_CONFIG_POOLS),
            sets=informers.of(PINNED_IMAGE_SETS),
            machine_config_nodes=informers.of(MACHINE_CONFIG_NODES, own),
            runtime_classes=informers.of(RUNTIME_CLASSES),
        )


Facts = tuple[Desired, ObservedNodeImages]


class NodeReconciler:
    """There is one key: the node."""

    def __init__(
        self,
        *,
        node_name: str,
        kube: Kube,
        clock: Clock,
        caches: NodeCaches,
        tools: NodeTools,
        recorder: EventRecorder,
        metrics: PinMetrics,
        settings: PinSettings,
        by_runtime_class: bool,
        is_on: bool = True,
    ) -> None:
        """If the feature is off, no set is wanted, so that all our pins are removed."""
        self._key = Key("", node_name)
        self._clock = clock
        self._caches = caches
        self._tools = tools
        self._recorder = recorder
        self._metrics = metrics
        self._settings = settings
        self._by_runtime_class = by_runtime_class
        self._is_on = is_on
        self._reports = ReadYourWrites(caches.machine_config_nodes, clock)
        status = StatusWriter(node_name, kube, self._reports)
        self._actions = NodeActions(tools, clock, status=status)
        self._latest: Facts | None = None

    def progress(self) -> Progress | None:
        """With the pulls as they are now; None before the first reconcile."""
        if self._latest is None:
            return None
        desired, observed = self._latest
        pulls = self._tools.pulls
        current = replace(observed, pulls=pulls.snapshot(), transfer=pulls.transfer)
        return progress.progress(desired, current, self._clock.now())

    async def reconcile(self, key: Key) -> datetime | None:
        facts = await self.observe(key)
        if facts is None:
            return None
        self.remember(facts)
        plan = self.plan(facts, self._clock.now())
        await pipeline.apply_lanes(plan, self.apply, key, record=self.record)
        return plan.recheck_at

    async def observe(self, key: Key) -> Facts | None:
        node = self._caches.nodes.get(self._key)
        if node is None:
            return None
        mine = self._own_report(node)
        desired = self._desired(node, mine)
        observed = await observe.observe(
            self._tools,
            desired,
            node=node,
            last_status=_last_status(mine) if mine else None,
            history=self._actions.history,
            now=self._clock.now(),
        )
        return desired, observed

    def remember(self, facts: Facts) -> None:
        """For the next observe, for metrics and for `progress`."""
        self._latest = facts
        self._actions.history = facts[1].history
        self._metrics.count(*facts)

    def plan(self, facts: Facts, now: datetime) -> Plan:
        return policy.plan(*facts, now)

    async def apply(self, action: NodeAction) -> None:
        await self._actions.apply(action)

    def _own_report(self, node: Node) -> MachineConfigNode | None:
        """None also for the report of an earlier Node, which is about to be deleted."""
        found = self._reports.get(self._key)
        return found if found is not None and membership.is_report_of(found, node) else None

    def _desired(self, node: Node, mine: MachineConfigNode | None) -> Desired:
        return desired_state.desired(
            node,
            self._caches.pools,
            self._caches.sets if self._is_on else (),
            handlers=self._handlers(),
            settings=self._settings,
            generation=mine.metadata.generation if mine else 0,
        )

    def _handlers(self) -> dict[str, str] | None:
        if not self._by_runtime_class:
            return None
        return {one.metadata.name: one.handler for one in self._caches.runtime_classes}

    def record(self, key: Key, event: RecordEvent) -> None:
        mine = self._reports.get(self._key)
        if mine is not None:
            action = "SynchronizePinnedImageSets"
            self._recorder.record_planned(MACHINE_CONFIG_NODES, mine, event, action=action)


def _last_status(mine: MachineConfigNode) -> MachineConfigNodeStatus:
    return replace(mine.status, pinned_image_sets=claims.reported(mine))


def watch(controller: Controller, caches: NodeCaches, node_name: str) -> None:
    """Every change of these objects wakes the one key."""

    def own_node(old: object, new: object) -> Iterable[Key]:
        return (Key("", node_name),)

    watched: tuple[Informer[Any], ...] = (
        caches.nodes,
        caches.pools,
        caches.sets,
        caches.machine_config_nodes,
        caches.runtime_classes,
    )
    for informer in watched:
        controller.watch(informer, own_node)
