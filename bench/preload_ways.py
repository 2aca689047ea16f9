"""The ways to bring a list of images onto a node that the preload bench compares."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lading.adapters.clock import SystemClock
from lading.api.machineconfiguration.pinned_image_set import (
    PinnedImage,
    PinnedImageSet,
    PinnedImageSetSpec,
)
from lading.kernel.objects import ObjectMeta
from lading.pinned_images.node import host as node_host
from lading.pinned_images.node.types import PinSettings
from lading.pinned_images.types import Progress
from lading.wiring import host
from lading.wiring.gates import parse_gates
from lading.wiring.host import Host
from tests.real.bed.runtime import Runtime

ANCHOR_WORKERS = 5
ANCHOR_THROTTLE_SECONDS = 1.0
"""OpenShift's daemon pulls with five workers, each of which rests this long after an image."""

Way = Callable[[Runtime, Sequence[str]], Coroutine[Any, Any, "Took"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    half_seconds: float
    """Until half of the images were there, which is when most pods could start."""
    all_seconds: float
    """Until all were there; ours were pinned then, too, and that was read back."""


def crictl(workers: int, *, throttle_seconds: float = 0.0) -> Way:
    """So many `crictl pull` at a time, in the order of the list."""

    async def pull_all(runtime: Runtime, images: Sequence[str]) -> Took:
        began = time.monotonic()
        ended: list[float] = []
        waiting = iter(images)

        def pull(image: str) -> None:
            runtime.crictl("pull", image)
            ended.append(time.monotonic())

        async def work() -> None:
            for image in waiting:
                await loop.run_in_executor(threads, pull, image)
                await asyncio.sleep(throttle_seconds)

        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(workers) as threads:
            await asyncio.gather(*(work() for _ in range(workers)))
        return Took(half_seconds=statistics.median(ended) - began, all_seconds=max(ended) - began)

    return pull_all


async def lading(runtime: Runtime, images: Sequence[str]) -> Took:
    """A node that sees the set for the first time and has never resolved any of its images."""
    clock = SystemClock()
    seen: dict[float, float] = {}
    """Share of the images that are there -> the seconds until it was seen."""
    began = clock.monotonic()

    def show(found: Progress) -> None:
        assert not any(one.problems for one in found.sets), found
        share = found.present_count / found.image_count
        seen.setdefault(share, clock.monotonic() - began)

    with tempfile.TemporaryDirectory() as folder:
        place = Host(
            runtime_endpoint=runtime.endpoint, state_dir=Path(folder), root=runtime.host_root
        )
        async with host.open_host(place, clock) as parts:
            desired = node_host.desired_of(
                "bench", [_set(images)], handlers=None, settings=PinSettings()
            )
            await host.synchronize(parts, desired, clock, gates=parse_gates(""), show=show)
    return Took(
        half_seconds=min(seconds for share, seconds in seen.items() if share >= 0.5),
        all_seconds=clock.monotonic() - began,
    )


def _set(images: Sequence[str]) -> PinnedImageSet:
    pinned = tuple(PinnedImage(name=image) for image in images)
    return PinnedImageSet(
        metadata=ObjectMeta(name="bench"), spec=PinnedImageSetSpec(pinned_images=pinned)
    )


SERIAL = crictl(1)
ANCHOR = crictl(ANCHOR_WORKERS, throttle_seconds=ANCHOR_THROTTLE_SECONDS)
