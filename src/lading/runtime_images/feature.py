"""Images by runtime class as a feature: its gate, and what it runs on a node.

It needs no kinds: the pair of image and runtime handler is an affair of one node. Beside a kubelet
images are only counted and judged; where none runs, the process gives a policy to collect them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.loop.feature import AgentContext, Feature, Part, Work
from lading.runtime_images.gate import RUNTIME_CLASS_IN_IMAGE_CRI_API
from lading.runtime_images.gc_types import GcPolicy
from lading.runtime_images.report import COLLECTION_PATH


@asynccontextmanager
async def _open_node(context: AgentContext) -> AsyncIterator[Work]:
    from lading.runtime_images.controller import KEY, GarbageCollection
    from lading.runtime_images.metrics import ImageMetrics
    from lading.runtime_images.state import ImageStateFile

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
    yield Work(controllers=(controller,), pages={COLLECTION_PATH: reconciler.preview})


FEATURE = Feature(
    name="runtime-images",
    gate=RUNTIME_CLASS_IN_IMAGE_CRI_API,
    summary="Separates the images on a node by the runtime class that they were pulled for.",
    agent=(Part(open=_open_node),),
)
