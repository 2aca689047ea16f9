"""The number of images by runtime handler, on a node where nothing is collected."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.adapters.cri.client import CriClient
from lading.loop import tasks
from lading.ports.cri import Cri, ImageSpec
from lading.runtime_images.census import PERIOD_SECONDS, Census
from lading.runtime_images.metrics import ImageMetrics
from lading.wire import calls
from tests.runtime_images.conftest import Stand

LAYERS = {"linux/amd64": [b"for the host"], "linux/arm64": [b"for arm guests"]}


class Numbers:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def census(self, runtime: Cri, clock: VirtualClock) -> Census:
        return Census(runtime=runtime, clock=clock, metrics=ImageMetrics(self.registry))

    async def become(self, name: str, labels: Mapping[str, str], value: float) -> None:
        async with asyncio.timeout(10):
            while True:
                if self.registry.get_sample_value(name, dict(labels)) == value:
                    return
                await asyncio.sleep(0.01)


async def test_images_are_counted_at_the_start_and_again_in_each_period(stand: Stand) -> None:
    tag = await stand.publisher.index("app:1", LAYERS)
    numbers, clock = Numbers(), VirtualClock()
    await stand.runtime.pull(ImageSpec(image=tag))
    async with tasks.started(numbers.census(stand.runtime, clock).run()):
        await numbers.become("lading_runtime_images", {"runtime_handler": ""}, 1)
        await stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
        await clock.advance(PERIOD_SECONDS)
        await numbers.become("lading_runtime_images", {"runtime_handler": "arm"}, 1)


async def test_a_runtime_that_does_not_answer_is_counted_and_asked_again(tmp_path: Path) -> None:
    numbers, clock = Numbers(), VirtualClock()
    async with (
        calls.channel_to(f"unix://{tmp_path}/absent.sock") as channel,
        tasks.started(numbers.census(CriClient(channel), clock).run()),
    ):
        for count in (1, 2):
            await numbers.become("lading_runtime_images_list_failures_total", {}, count)
            await clock.advance(PERIOD_SECONDS)
