"""Pinned images as a feature: its gate, its kinds, its rights and its components.

The controller assigns sets to pools and counts nodes. The agent pulls and pins.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.api.core import NODES, RUNTIME_CLASSES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODE,
    MACHINE_CONFIG_NODES,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOL,
    MACHINE_CONFIG_POOLS,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET, PINNED_IMAGE_SETS
from lading.api.rbac import Right
from lading.kernel.objects import Key
from lading.kernel.pacing import Pacing
from lading.loop.feature import AgentContext, Component, Context, Feature, Kind, Tasks
from lading.pinned_images.cluster import controller as cluster
from lading.pinned_images.cluster.fleet import ClusterCaches, Fleet
from lading.pinned_images.cluster.metrics import FleetMetrics
from lading.pinned_images.node import controller as node
from lading.pinned_images.node.metrics import PinMetrics, SetMetrics
from lading.pinned_images.node.observe import open_tools
from lading.pinned_images.node.types import PinSettings
from lading.pinned_images.types import PINNED_IMAGES, PROGRESS_PATH, Progress
from lading.runtime_images.types import RUNTIME_CLASS_IN_IMAGE_CRI_API

PULL_DEBOUNCE_SECONDS = 0.05
"""Many small pulls end close together. A free place for a pull waits no longer than this."""
_NODES = Kind(resource=NODES)
_SETS = Kind(resource=PINNED_IMAGE_SETS)
_POOLS = Kind(resource=MACHINE_CONFIG_POOLS)
_MACHINE_CONFIG_NODES = Kind(resource=MACHINE_CONFIG_NODES)
_RUNTIME_CLASSES = Kind(resource=RUNTIME_CLASSES)


@asynccontextmanager
async def _open_cluster(context: Context) -> AsyncIterator[Tasks]:
    caches = ClusterCaches.of(context.informers)
    pacing = context.setting(Pacing) or Pacing()
    fleet = Fleet(caches)
    FleetMetrics(context.metrics.registry, fleet)
    tools = cluster.FleetTools(
        caches=caches,
        fleet=fleet,
        kube=context.kube,
        clock=context.clock,
        recorder=context.recorder,
        is_on=context.gates[PINNED_IMAGES],
        pacing=pacing,
    )
    controllers = {
        name: context.controller(name=name, reconcile=reconcile)
        for name, reconcile in cluster.reconciles(tools).items()
    }
    cluster.watch(
        controllers, caches, fleet, pacing.debounce_seconds, pools_counted=context.pools.changed
    )
    yield Tasks(controllers=(fleet, *controllers.values()), pool_facts=fleet)


@asynccontextmanager
async def _open_node(context: AgentContext) -> AsyncIterator[Tasks]:
    key = Key("", context.node_name)
    caches = node.NodeCaches.of(context.informers, context.node_name)
    metrics = PinMetrics(context.metrics.registry)
    async with open_tools(
        context.node,
        context.clock,
        handlers_honoured=context.handlers_honoured,
        images_kept_while_gate_is_off=context.images_kept_while_gate_is_off,
        pulled=context.record_pull,
        metrics=metrics,
        changed=lambda: controller.wake(key, debounce_seconds=PULL_DEBOUNCE_SECONDS),
    ) as tools:
        reconciler = node.NodeReconciler(
            node_name=context.node_name,
            kube=context.kube,
            clock=context.clock,
            caches=caches,
            tools=tools,
            recorder=context.recorder,
            metrics=metrics,
            settings=context.setting(PinSettings) or PinSettings(),
            by_runtime_class=context.gates[RUNTIME_CLASS_IN_IMAGE_CRI_API],
            is_on=context.gates[PINNED_IMAGES],
        )
        SetMetrics(context.metrics.registry, reconciler.progress)
        controller = context.controller(
            name="pinned-images-node", reconcile=reconciler.reconcile, workers=1
        )
        node.watch(controller, caches, context.node_name)

        async def progress() -> Progress | None:
            return reconciler.progress()

        yield Tasks(controllers=(controller,), pages={PROGRESS_PATH: progress})


FEATURE = Feature(
    name="pinned-images",
    gate=PINNED_IMAGES,
    summary="Pulls the images of PinnedImageSets to the nodes of their pools and pins them there.",
    owns=(PINNED_IMAGE_SET, MACHINE_CONFIG_POOL, MACHINE_CONFIG_NODE),
    controller=(
        Component(
            open=_open_cluster,
            reads=(_NODES, _SETS, _POOLS, _MACHINE_CONFIG_NODES),
            contributes_to_pools=True,
            rights=(
                Right(
                    group=group.NAME,
                    resources=("machineconfigpools", "machineconfignodes"),
                    verbs=("create", "patch"),
                    why="Server-side apply creates what is not there, so it needs both verbs.",
                ),
                Right(group=group.NAME, resources=("pinnedimagesets/status",), verbs=("patch",)),
            ),
        ),
    ),
    agent=(
        Component(
            open=_open_node,
            reads=(_NODES, _SETS, _POOLS, _MACHINE_CONFIG_NODES, _RUNTIME_CLASSES),
            rights=(
                Right(
                    group="",
                    resources=("nodes/configz",),
                    verbs=("get",),
                    why="To read the limits of the kubelet. nodes/proxy would allow running "
                    "commands in every pod.",
                ),
                Right(
                    group=group.NAME,
                    resources=("machineconfignodes/status",),
                    verbs=("patch",),
                    why="Only that of its own node: see agent-policy.yaml.",
                ),
                Right(
                    group=group.NAME,
                    resources=("machineconfignodes",),
                    verbs=("patch",),
                    why="For an annotation with what the status cannot hold: more than 100 sets, "
                    "or UIDs if the definition of another owner has no field for them.",
                ),
            ),
        ),
    ),
)
