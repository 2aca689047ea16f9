"""What the pull engine did and how far the node is, in the numbers that monitoring reads."""

import asyncio

from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.kernel.images import ImageKey
from lading.pinned_images.node import progress
from lading.pinned_images.node.metrics import PinMetrics, SetMetrics
from lading.pinned_images.node.pulls import PullEngine
from lading.pinned_images.node.types import Desired, ObservedNodeImages
from lading.ports import cri
from lading.ports.cri import Image, ImageSpec
from lading.ports.registry import Credential
from tests.pinned_images.node import builders
from tests.pinned_images.node.builders import image_set, key, observed, pinned
from tests.pinned_images.node.whole_nodes import Anonymous

PULL_SECONDS = 3.0


class SlowRuntime:
    """Takes a while for every pull, and refuses an image called `broken`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        await self._clock.sleep(PULL_SECONDS)
        if "broken" in spec.image:
            raise cri.Unauthorized("the registry refuses", image=spec.image)
        return "sha256:1"

    async def image(self, spec: ImageSpec) -> Image | None:
        return Image(id="sha256:1", size_bytes=1, repo_digests=(spec.image,))


async def nothing(key: ImageKey, spec: ImageSpec) -> None:
    """What else happens to a pulled image is no matter here."""


async def unseen() -> int | None:
    raise cri.Unavailable("the disk is seen by the tests alone")


async def pulled(*names: str) -> CollectorRegistry:
    clock, registry = VirtualClock(), CollectorRegistry()
    ended = asyncio.Event()
    engine = PullEngine(
        cri=SlowRuntime(clock),  # type: ignore[arg-type]  # the engine asks no more
        registry=None,  # type: ignore[arg-type]  # nothing is pulled by tag
        credentials=Anonymous(),
        clock=clock,
        metrics=PinMetrics(registry),
        pulled=nothing,
        used_bytes=unseen,
        changed=ended.set,
    )
    for name in names:
        engine.start(key(name), ImageSpec(image=key(name).image), new_bytes=1000)
    await clock.advance(PULL_SECONDS)
    while any(pull.running for pull in engine.snapshot().values()):
        ended.clear()
        await ended.wait()
    await engine.close()
    return registry


async def test_pulls_that_end_well_are_counted_with_their_bytes_and_seconds() -> None:
    registry = await pulled("a", "b")
    assert registry.get_sample_value("lading_pinned_images_pulls_total") == 2
    assert registry.get_sample_value("lading_pinned_images_pull_bytes_total") == 2000
    assert registry.get_sample_value("lading_pinned_images_pull_seconds_sum") == 2 * PULL_SECONDS


async def test_failures_are_counted_by_reason_and_bring_no_bytes() -> None:
    registry = await pulled("a", "broken")
    failures = {"reason": "Unauthorized"}
    assert registry.get_sample_value("lading_pinned_images_pull_failures_total", failures) == 1
    assert registry.get_sample_value("lading_pinned_images_pulls_total") == 1
    assert registry.get_sample_value("lading_pinned_images_pull_bytes_total") == 1000


def test_what_is_missing_and_what_is_pinned_are_counted_once_over_all_sets() -> None:
    registry = CollectorRegistry()
    sets = (image_set("s", "a", "b"), image_set("t", "b", "c"))
    held = (*pinned("a", by="s"), *pinned("b", by="s+t", effective=False))
    seen = observed("a", "b", pins=held)
    PinMetrics(registry).count(Desired(node_name="node-1", sets=sets), seen)
    assert registry.get_sample_value("lading_pinned_images_missing") == 1
    assert registry.get_sample_value("lading_pinned_images_pinned") == 1


def test_the_metrics_of_a_set_are_the_figures_of_the_page() -> None:
    registry = CollectorRegistry()
    desired = Desired(node_name="a", sets=(image_set("one", "x", "y"),))
    seen = ObservedNodeImages(
        images=builders.present("x"), resolutions=builders.resolved("x", "y", size_mib=10)
    )
    SetMetrics(registry, lambda: progress.progress(desired, seen, builders.NOW))

    def value(name: str, state: str) -> float | None:
        labels = {"pinned_image_set": "one", "state": state}
        return registry.get_sample_value(f"lading_pinned_images_set_{name}", labels)

    assert (value("images", "wanted"), value("images", "present")) == (2, 1)
    assert (value("bytes", "wanted"), value("bytes", "done")) == (
        20 * builders.MIB,
        10 * builders.MIB,
    )
