"""Images by runtime class as a feature: its gate, and what it runs on a node.

It needs no kinds: the pair of image and runtime handler is an affair of one node. Beside a kubelet
the images are only counted; where no kubelet runs, the process gives a policy for collecting them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.loop.feature import AgentContext, Feature, Part, Work
from lading.runtime_images.types import RUNTIME_CLASS_IN_IMAGE_CRI_API, GcPolicy


@asynccontextmanager
async def _open_node(context: AgentContext) -> AsyncIterator[Work]:
    from lading.runtime_images.controller import KEY, GarbageCollection, ImageCount
    from lading.runtime_images.metrics import ImageMetrics
    from lading.runtime_images.state import ImageStateFile

    metrics = ImageMetrics(context.metrics.registry)
    runtime = context.node.runtime.cri
    state = ImageStateFile(context.node.image_state)
    policy = context.setting(GcPolicy)
    reconciler = (
        ImageCount(runtime=runtime, state=state, clock=context.clock, metrics=metrics)
        if policy is None
        else GarbageCollection(
            runtime=runtime,
            disk=context.node.disk,
            state=state,
            clock=context.clock,
            policy=policy,
            metrics=metrics,
        )
    )
    controller = context.controller(name=reconciler.name, reconcile=reconciler.reconcile, workers=1)
    controller.wake(KEY)
    yield Work(controllers=(controller,))


FEATURE = Feature(
    name="runtime-images",
    gate=RUNTIME_CLASS_IN_IMAGE_CRI_API,
    summary="Separates the images on a node by the runtime class that they were pulled for.",
    agent=(Part(open=_open_node),),
)
