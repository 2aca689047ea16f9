"""Wires the reconcile pipeline of a node: which changes matter, where the status goes."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from lading.api.core import NODES, Node
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
from lading.api.node import RUNTIME_CLASSES, RuntimeClass
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop import event_series, pipeline
from lading.loop.controller import Controller
from lading.loop.event_series import Severity
from lading.loop.informer import Informer, Informers
from lading.loop.read_your_writes import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.pinned_images import claims, rules
from lading.pinned_images.node import apply, desire, observe, progress
from lading.pinned_images.node import plan as policy
from lading.pinned_images.node.apply import NodeAction
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.report_writer import ReportWriter
from lading.pinned_images.node.types import (
    Desired,
    ObservedNodeImages,
    PinSettings,
    RecordNodeEvent,
    WritePins,
    WriteStatus,
    Written,
)
from lading.pinned_images.progress import Progress
from lading.ports import cri
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


class NodeReconciler:
    """The reconcile pipeline of one node; the key is always the node itself."""

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
        """Switched off, no set is wanted, so that everything of ours is unpinned and stays so."""
        self._key = Key("", node_name)
        self._kube = kube
        self._clock = clock
        self._caches = caches
        self._tools = tools
        self._recorder = recorder
        self._metrics = metrics
        self._settings = settings
        self._by_runtime_class = by_runtime_class
        self._is_on = is_on
        self._first_seen: dict[tuple[str, int], datetime] = {}
        self._reports = ReadYourWrites(caches.machine_config_nodes, clock)
        self._report_writer = ReportWriter(node_name, kube, self._reports)
        self._written_at = Written()
        self._seen: tuple[Desired, ObservedNodeImages] | None = None

    def progress(self) -> Progress | None:
        """How far the node is, with its pulls as they are now; None before the first reconcile."""
        if self._seen is None:
            return None
        desired, observed = self._seen
        pulls = self._tools.pulls
        current = replace(observed, pulls=pulls.snapshot(), transfer=pulls.transfer)
        return progress.progress(desired, current, self._clock.now())

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> tuple[Desired, ObservedNodeImages] | None:
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
            written=self._written_at,
        )
        now = self._clock.now()
        observed, self._written_at = observe.timed(desired, observed, self._written_at, now)
        self._metrics.count(desired, observed)
        self._seen = desired, observed
        return desired, observed

    def _own_report(self, node: Node) -> MachineConfigNode | None:
        """None also for that of an earlier Node, which is about to be deleted."""
        found = self._reports.get(self._key)
        return found if found is not None and rules.is_report_of(found, node) else None

    def plan(self, observed: tuple[Desired, ObservedNodeImages] | None, now: datetime) -> Plan:
        return policy.plan(*observed, now) if observed else Plan()

    async def apply(self, action: NodeAction) -> None:
        match action:
            case WritePins():
                await self._write_pins(action)
            case WriteStatus(problems=problems):
                await self._carry_out(action)
                now = self._clock.now()
                self._written_at = self._written_at.with_status(now, problems)
            case _:
                await self._carry_out(action)

    async def _carry_out(self, action: NodeAction) -> None:
        await apply.apply(action, self._tools, write_status=self._write_status, record=self._record)

    async def _write_pins(self, action: WritePins) -> None:
        """Why it failed is a fact that the next reconcile observes."""
        reason = delay = ""
        try:
            await self._carry_out(action)
        except (cri.CriError, OSError) as error:
            if isinstance(error, cri.Transient):
                delay = str(error)
            else:
                reason = str(error)
            raise
        finally:
            self._written_at = replace(
                self._written_at,
                pins_at=self._clock.now(),
                pins_error=reason,
                pins_delay=delay,
            )

    def _desired(self, node: Node, mine: MachineConfigNode | None) -> Desired:
        now = self._clock.now()
        generations = [(one.metadata.uid, one.metadata.generation) for one in self._caches.sets]
        self._first_seen = {one: self._first_seen.get(one, now) for one in generations}
        return desire.desired(
            node,
            self._caches.pools,
            self._caches.sets if self._is_on else (),
            handlers=self._handlers(),
            first_seen=self._first_seen,
            settings=self._settings,
            generation=mine.metadata.generation if mine else 0,
            now=now,
        )

    def _handlers(self) -> dict[str, str] | None:
        if not self._by_runtime_class:
            return None
        return {one.metadata.name: one.handler for one in self._caches.runtime_classes}

    async def _write_status(self, status: MachineConfigNodeStatus) -> None:
        await self._report_writer.write(status)

    def _record(self, event: RecordNodeEvent) -> None:
        mine = self._reports.get(self._key)
        if mine is None:
            return
        self._recorder.record(
            event_series.reference(MACHINE_CONFIG_NODES, mine),
            reason=event.reason,
            action="SynchronizePinnedImageSets",
            note=f"set {event.set_name}: {event.because}",
            severity=Severity.WARNING if event.warning else Severity.NORMAL,
        )


def _last_status(mine: MachineConfigNode) -> MachineConfigNodeStatus:
    return replace(mine.status, pinned_image_sets=claims.reported(mine))


def watch(controller: Controller, caches: NodeCaches, node_name: str) -> None:
    """Any change of anything that the node depends on leads to its one key."""

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
