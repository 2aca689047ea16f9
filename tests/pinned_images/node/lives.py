"""A node around which everything may fail: runtime, registry, disk, API server, clock.

The reconcile pipeline, the pull engine and the resolver are the real ones. Nothing is judged here.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from lading.adapters.kubelet import FixedLimits
from lading.api.core import NODES, RUNTIME_CLASSES, Node, RuntimeClass
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNodeStatus,
)
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.embedded.node import LINUX_AMD64
from lading.kernel.images import ImageKey
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop import pipeline
from lading.loop.informer import Informer
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.pinned_images.node import observe
from lading.pinned_images.node.controller import NodeCaches, NodeReconciler
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.pulls import PullEngine
from lading.pinned_images.node.resolutions import Resolver
from lading.pinned_images.node.types import Desired, ObservedNodeImages, PinSettings
from lading.ports import cri, kube
from lading.ports.cri import ImageSpec
from lading.ports.node import KubeletLimits
from tests.pinned_images.cluster.build import pool
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.fickle_parts import (
    AMPLE_BYTES,
    NODE,
    FickleApi,
    FickleClock,
    FickleDisk,
    FickleRuntime,
    Notes,
)
from tests.pinned_images.node.whole_nodes import (
    LAYER_BYTES,
    SHARED_LAYERS,
    Anonymous,
    Registry,
)

KEY = Key("", NODE)
GUEST = "kata"
SETS_BY_SIDE = {"left": ("s", "t"), "right": ("t", "u")}
"""Each side is a pool; the node is in one of them."""
PARALLEL_PULLS_MAX = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the agent saw at one moment, and what it made of it."""

    desired: Desired
    observed: ObservedNodeImages
    plan: Plan
    now: datetime
    api_answers: bool = True

    @property
    def is_at_rest(self) -> bool:
        """Nothing is done or awaited before the end of the round."""
        round_end = self.now + self.desired.settings.resync_period
        wanted = {key for one in self.desired.sets for key in one.images}
        return (
            wanted <= self.observed.images.keys()
            and not self.plan.actions
            and self.plan.recheck_at == round_end
        )


class Life:
    """One node, over all the deaths of its agent."""

    def __init__(self) -> None:
        self._revision = 0
        self._generations: dict[str, int] = {}
        self._uids: dict[str, str] = {}
        self._uid = 0
        self._tools: NodeTools
        self._reconciler: NodeReconciler
        self.is_woken = False
        self.clock = FickleClock()
        self.runtime = FickleRuntime()
        self.registry = Registry()
        self.disk = FickleDisk()
        self.journal = Notes()
        self.caches = NodeCaches(
            nodes=Informer(NODES),
            pools=Informer(MACHINE_CONFIG_POOLS),
            sets=Informer(PINNED_IMAGE_SETS),
            machine_config_nodes=Informer(MACHINE_CONFIG_NODES),
            runtime_classes=Informer(RUNTIME_CLASSES),
        )
        self.api = FickleApi(self.caches.machine_config_nodes)
        self.api.show({})
        for side, sets in SETS_BY_SIDE.items():
            selector = {"matchLabels": {"side": side}}
            self.caches.pools.put(pool(side, sets=sets, nodeSelector=selector))
        self.write_node()
        self.write_runtime_class(exists=True)

    async def begin(self) -> None:
        metrics = Metrics(CollectorRegistry())
        pin_metrics = PinMetrics(metrics.registry)
        common: dict[str, Any] = {"kube": self.api, "clock": self.clock}
        self._tools = self._opened_tools(pin_metrics)
        self._reconciler = NodeReconciler(
            **common,
            node_name=NODE,
            caches=self.caches,
            tools=self._tools,
            recorder=EventRecorder(
                **common, rng=random.Random(1), metrics=metrics, controller="", instance=""
            ),
            metrics=pin_metrics,
            settings=PinSettings(parallel_pulls_max=PARALLEL_PULLS_MAX),
            by_runtime_class=True,
        )

    def _opened_tools(self, metrics: PinMetrics) -> NodeTools:
        runtime: Any = self.runtime  # it has what the engine asks for
        return NodeTools(
            cri=runtime,
            pins=runtime,
            pulls=PullEngine(
                cri=runtime,
                registry=self.registry,  # type: ignore[arg-type]
                credentials=Anonymous(),
                clock=self.clock,
                metrics=metrics,
                pulled=_nothing,
                used_bytes=lambda: observe.used_bytes(runtime, self.disk),
                changed=self._wake,
            ),
            resolver=Resolver(
                registry=self.registry,  # type: ignore[arg-type]
                journal=self.journal,
                clock=self.clock,
                platform_of=lambda handler: LINUX_AMD64,
                changed=self._wake,
            ),
            disk=self.disk,
            kubelet=FixedLimits(KubeletLimits()),
            handlers_honoured=False,
            images_kept_while_gate_is_off=_none_left,
        )

    async def end(self) -> None:
        await self._tools.pulls.close()
        await self._tools.resolver.close()

    def _wake(self) -> None:
        self.is_woken = True

    @property
    def status(self) -> MachineConfigNodeStatus:
        (found,) = self.caches.machine_config_nodes
        return found.status

    def held(self) -> dict[str, bool]:
        """By set: whether the runtime holds all its images and pins them for it, as it is now.

        It does not depend on what the agent knows about images.
        """
        in_force = {
            image_id: pin.owners
            for image_id, pin in self.runtime.pins.items()
            if image_id not in self.runtime.lost_pins
        }
        return {
            one.metadata.name: all(
                image.name in self.runtime.names
                and one.metadata.name in in_force.get(whole_nodes.image_id(image.name), ())
                for image in one.spec.pinned_images
            )
            for one in self.caches.sets
        }

    async def look(self, *, actions_max: int | None = None) -> Look:
        """Looks and acts once; with a maximum, the agent is killed after so many actions."""
        self.is_woken = False
        seen = await self._reconciler.observe(KEY)
        assert seen is not None
        self._reconciler.remember(seen)
        now = self.clock.now()
        plan = self._reconciler.plan(seen, now)
        done = replace(plan, actions=plan.actions[:actions_max])
        try:
            await pipeline.apply_lanes(
                done, self._reconciler.apply, KEY, record=self._reconciler.record
            )
        except* (cri.CriError, kube.KubeError, OSError):
            pass  # the controller comes back to it
        if actions_max is not None:
            await self.end()
            await self.begin()
        return Look(
            desired=seen[0],
            observed=seen[1],
            plan=plan,
            now=now,
            api_answers=not self.api.is_away and actions_max is None,
        )

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def until_next_look(self, last: Look) -> None:
        """Until something wakes the agent, or what it saw last is due to be seen again."""
        assert last.plan.recheck_at is not None
        await self.pass_time(0)
        if not self.is_woken:
            seconds = (last.plan.recheck_at - self.clock.now()).total_seconds()
            await self.pass_time(max(0.0, seconds))

    def write_set(self, name: str, images: Iterable[tuple[str, bool]]) -> None:
        """A new set, or its next generation: images, and whether each is for guests."""
        if name not in self._generations:
            self._uid += 1
            self._uids[name] = f"{name}-{self._uid}"
        self._generations[name] = self._generations.get(name, 0) + 1
        entries = [
            {
                "name": whole_nodes.image_keys([word])[0].image,
                "runtimeClassNames": [GUEST] if for_guests else [],
            }
            for word, for_guests in images
        ]
        self._put(
            self.caches.sets,
            PinnedImageSet,
            {"name": name, "uid": self._uids[name], "generation": self._generations[name]},
            spec={"pinnedImages": entries},
        )

    def wanted(self) -> set[tuple[str, str, int]]:
        """Name, uid and generation of the sets that the node's pool lists and that exist."""
        (node,) = self.caches.nodes
        listed = SETS_BY_SIDE[node.metadata.labels["side"]]
        metadata = [one.metadata for one in self.caches.sets if one.metadata.name in listed]
        return {(one.name, one.uid, one.generation) for one in metadata}

    def delete_set(self, name: str) -> None:
        self._generations.pop(name, None)
        self.caches.sets.remove(Key("", name))

    def write_node(
        self, *, side: str = "left", ready: bool = True, disk_pressure: bool = False
    ) -> None:
        found = {"Ready": ready, "DiskPressure": disk_pressure}
        conditions = [{"type": one, "status": str(is_so)} for one, is_so in found.items()]
        metadata = {"name": NODE, "labels": {"side": side}}
        self._put(self.caches.nodes, Node, metadata, status={"conditions": conditions})

    def write_runtime_class(self, *, exists: bool) -> None:
        if exists:
            self._put(self.caches.runtime_classes, RuntimeClass, {"name": GUEST}, handler=GUEST)
        else:
            self.caches.runtime_classes.remove(Key("", GUEST))

    def recover(self) -> None:
        self.runtime.faults.clear()
        self.runtime.gate.set()
        self.runtime.refusal = self.runtime.pins_fault = None
        self.registry.is_away = self.api.is_away = False
        self.disk.usable_bytes = AMPLE_BYTES
        self.write_node()
        self.write_runtime_class(exists=True)

    def _put(
        self, cache: Informer[Any], type_: type[Any], metadata: dict[str, Any], **parts: Any
    ) -> None:
        self._revision += 1
        metadata["resourceVersion"] = str(self._revision)
        cache.put(msgspec.convert({"metadata": metadata, **parts}, type_))


def pulls_hang(life: Life) -> None:
    life.runtime.gate.clear()


def registry_goes_away(life: Life) -> None:
    life.registry.is_away = True


def api_server_goes_away(life: Life) -> None:
    life.api.is_away = True


def disk_is_full(life: Life) -> None:
    life.disk.usable_bytes = 0


def disk_has_room_for_one_image(life: Life) -> None:
    life.disk.usable_bytes = 2 * (SHARED_LAYERS + 1) * LAYER_BYTES


def node_is_not_ready(life: Life) -> None:
    life.write_node(ready=False)


def disk_pressure_comes(life: Life) -> None:
    life.write_node(disk_pressure=True)


def runtime_class_is_deleted(life: Life) -> None:
    life.write_runtime_class(exists=False)


def runtime_cannot_pin(life: Life) -> None:
    life.runtime.refusal = cri.CannotPin("it is too old")


def pins_cannot_be_written(life: Life) -> None:
    life.runtime.pins_fault = OSError(30, "Read-only file system")


async def _none_left() -> frozenset[str]:
    """The gate of runtime classes is on."""
    return frozenset()


async def _nothing(key: ImageKey, spec: ImageSpec) -> None:
    """What else happens to a pulled image is no matter here."""
