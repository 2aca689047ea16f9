"""Images by runtime class as a feature: its gate, and its controller on a node.

It needs no kinds. On a node with a kubelet it only counts images and reports verdicts. On a node
without a kubelet, the process passes a policy to remove images.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.loop.feature import AgentContext, Component, Feature, Tasks
from lading.runtime_images.controller import KEY, GarbageCollection
from lading.runtime_images.gc_types import GcPolicy
from lading.runtime_images.metrics import ImageMetrics
from lading.runtime_images.report import COLLECTION_PATH
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import RUNTIME_CLASS_IN_IMAGE_CRI_API


@asynccontextmanager
async def _open_node(context: AgentContext) -> AsyncIterator[Tasks]:
    reconciler = GarbageCollection(
        runtime=context.node.runtime.cri,
        disk=context.node.disk,
        state=ImageStateFile(context.node.image_state),
        clock=context.clock,
        policy=context.setting(GcPolicy),
        kubelet=context.node.kubelet,
        metrics=ImageMetrics(context.metrics.registry),
    )
    controller = context.controller(name=reconciler.name, reconcile=reconciler.reconcile, workers=1)
    controller.wake(KEY)
    yield Tasks(controllers=(controller,), pages={COLLECTION_PATH: reconciler.preview})


FEATURE = Feature(
    name="runtime-images",
    gate=RUNTIME_CLASS_IN_IMAGE_CRI_API,
    summary="Separates the images on a node by the runtime class that they were pulled for.",
    agent=(Component(open=_open_node),),
)
