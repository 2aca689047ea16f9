"""Garbage collection, and what it does beside a kubelet, on the loop and on an embedded node."""

import asyncio
import errno
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.adapters.cri.client import CriClient
from lading.adapters.disk import LimitedDisk
from lading.adapters.kubelet import FixedLimits
from lading.adapters.state_files import LocalStateFile
from lading.kernel import platforms, references
from lading.loop import tasks
from lading.loop.controller import Controller
from lading.observability.metrics import Metrics
from lading.ports import platform_image
from lading.ports.cri import Container, Cri, CriError, ImageSpec, Inspection
from lading.ports.node import KubeletLimits
from lading.runtime_images.controller import KEY, PREVIEW_KEPT, GarbageCollection, policy_of
from lading.runtime_images.gc_types import GcDecision, GcPolicy
from lading.runtime_images.handlers import WithoutHandlers
from lading.runtime_images.metrics import ImageMetrics
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import DigestPull
from lading.wire import calls
from tests.runtime_images import nodes
from tests.runtime_images.conftest import Stand
from tests.runtime_images.nodes import (
    CAPACITY_BYTES,
    EVERYTHING,
    PERIOD_SECONDS,
    FullNode,
    container,
    tags_left,
)

TWO_PLATFORMS = {"linux/amd64": [b"for the host"], "linux/arm64": [b"for arm guests"]}
IMAGES = "lading_runtime_images"
LIST_FAILURES = "lading_runtime_images_list_failures_total"


@pytest.fixture
async def full(stand: Stand) -> FullNode:
    return await nodes.full_node(stand)


def on_the_loop(reconciler: GarbageCollection, clock: VirtualClock) -> Controller:
    made = Controller(
        name=reconciler.name,
        reconcile=reconciler.reconcile,
        clock=clock,
        rng=random.Random(1),
        metrics=Metrics(CollectorRegistry()),
    )
    made.wake(KEY)
    return made


async def until(clock: VirtualClock, holds: Callable[[], bool]) -> None:
    """Lets one period after the other pass."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)
            await clock.advance(PERIOD_SECONDS)


@dataclass(frozen=True)
class Numbers:
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def of(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, labels) or 0.0


async def test_a_first_reconcile_removes_nothing_and_a_later_one_frees_to_the_low_threshold(
    full: FullNode,
) -> None:
    assert await full.used_percent() >= 85
    await full.collect()
    assert await tags_left(full.stand) == set(full.tags)
    await full.clock.advance(PERIOD_SECONDS)
    await full.collect()
    assert 65 < await full.used_percent() <= 80


async def test_images_are_collected_again_in_each_period(full: FullNode) -> None:
    numbers = Numbers()
    collection = full.collection(metrics=ImageMetrics(numbers.registry))
    async with tasks.started(on_the_loop(collection, full.clock).run()):
        await until(full.clock, lambda: 0 < numbers.of(IMAGES, runtime_handler="") < 9)
    assert await full.used_percent() <= 80


@pytest.mark.parametrize("is_spoilt", [False, True])
async def test_ages_survive_a_restart_unless_their_file_cannot_be_read(
    full: FullNode, is_spoilt: bool
) -> None:
    await full.collect()
    await full.clock.advance(PERIOD_SECONDS)
    if is_spoilt:
        await LocalStateFile(full.stand.folder / "state" / "images.json").replace(b"{")
    await full.collect()
    assert (await tags_left(full.stand) == set(full.tags)) == is_spoilt


async def test_images_in_use_and_mounted_survive_the_fullest_disk(full: FullNode) -> None:
    used, mounted, *_ = await full.stand.runtime.images()
    full.stand.embedded.declare_containers([container(used.id, mounts=mounted.id)])
    await full.collect(policy=EVERYTHING)
    assert await tags_left(full.stand) == {*used.repo_tags, *mounted.repo_tags}


async def test_the_metric_counts_images_by_handler(full: FullNode) -> None:
    tag = await nodes.published(full.stand, "guest:1", "linux/arm64")
    await full.stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
    registry = prometheus_client.CollectorRegistry()
    await full.collect(metrics=ImageMetrics(registry))
    counts = {
        handler: registry.get_sample_value("lading_runtime_images", {"runtime_handler": handler})
        for handler in ("", "arm")
    }
    assert counts == {"": 9, "arm": 1}


@dataclass(slots=True)
class FileOnFullDisk:
    """Can be written only once the runtime has less than so many images."""

    runtime: Cri
    images_max: int
    content: bytes | None = None

    async def read(self) -> bytes | None:
        return self.content

    async def replace(self, content: bytes) -> None:
        if len(await self.runtime.images()) > self.images_max:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.content = content

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        yield


async def test_on_a_full_disk_images_are_removed_before_anything_is_written(
    full: FullNode,
) -> None:
    state = ImageStateFile(FileOnFullDisk(full.stand.runtime, images_max=0))
    await full.collect(state=state, policy=EVERYTHING)
    assert await tags_left(full.stand) == set()
    assert (await state.load()).records is not None


async def test_on_a_disk_that_was_always_full_images_grow_old_all_the_same(
    full: FullNode,
) -> None:
    """Otherwise every image would look young for ever, and none would go."""
    file = FileOnFullDisk(full.stand.runtime, images_max=8)
    collection = full.collection(state=ImageStateFile(file))
    await collection.reconcile(KEY)
    assert file.content is None
    await full.clock.advance(PERIOD_SECONDS)
    await collection.reconcile(KEY)
    assert await full.used_percent() <= 80
    assert file.content is not None


class CannotInspectOne(WithoutHandlers):
    async def inspect(self, spec: ImageSpec) -> Inspection | None:
        (first, *_) = await self.images()
        if spec.image == first.id:
            raise CriError(f"ImageStatus of {spec.image} failed")
        return await super().inspect(spec)


async def test_an_image_that_cannot_be_inspected_stops_no_collection(full: FullNode) -> None:
    await full.collect(runtime=CannotInspectOne(full.stand.runtime), policy=EVERYTHING)
    assert await full.stand.runtime.images() == ()


class CannotRemoveOne(WithoutHandlers):
    def __init__(self, runtime: Cri, stuck: str) -> None:
        super().__init__(runtime)
        self._stuck = stuck

    async def remove(self, spec: ImageSpec) -> None:
        if spec.image == self._stuck:
            raise CriError(f"RemoveImage of {spec.image} failed")
        await super().remove(spec)


async def test_an_image_that_cannot_be_removed_is_counted_and_stops_no_other(
    full: FullNode,
) -> None:
    (first, *_) = await full.stand.runtime.images()
    runtime = CannotRemoveOne(full.stand.runtime, stuck=first.id)
    registry = CollectorRegistry()
    await full.collect(runtime=runtime, policy=EVERYTHING, metrics=ImageMetrics(registry))
    assert await tags_left(full.stand) == set(first.repo_tags)
    failures = registry.get_sample_value("lading_runtime_images_removal_failures_total")
    assert failures == 1


class CannotListContainers(WithoutHandlers):
    async def containers(self) -> tuple[Container, ...]:
        raise CriError("ListContainers failed")


async def test_a_list_that_fails_is_counted_and_retried(full: FullNode) -> None:
    numbers = Numbers()
    collection = full.collection(
        runtime=CannotListContainers(full.stand.runtime), metrics=ImageMetrics(numbers.registry)
    )
    async with tasks.started(on_the_loop(collection, full.clock).run()):
        await until(full.clock, lambda: numbers.of(LIST_FAILURES) >= 2)
    assert await tags_left(full.stand) == set(full.tags)


def beside_a_kubelet(
    runtime: Cri, state: ImageStateFile, clock: VirtualClock, numbers: Numbers
) -> Controller:
    reconciler = GarbageCollection(
        runtime=runtime,
        disk=LimitedDisk(runtime, capacity_bytes=CAPACITY_BYTES),
        state=state,
        clock=clock,
        policy=None,
        kubelet=FixedLimits(KubeletLimits()),
        metrics=ImageMetrics(numbers.registry),
    )
    return on_the_loop(reconciler, clock)


async def test_images_for_classes_are_counted_where_handlers_are_ignored(
    stand: Stand,
) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    found = await platform_image.resolve(
        stand.registry, references.parse(tag), platforms.parse("linux/arm64"), for_guest=True
    )
    await stand.runtime.pull(ImageSpec(image=tag))
    await stand.runtime.pull(ImageSpec(image=found.manifest))
    await stand.state.save_digest_pull(
        DigestPull(
            reference=tag, runtime_handler="arm", platform="linux/arm64", pulled=found.manifest
        )
    )
    numbers, clock = Numbers(), VirtualClock()
    blind = WithoutHandlers(stand.runtime)
    async with tasks.started(beside_a_kubelet(blind, stand.state, clock, numbers).run()):
        await until(clock, lambda: numbers.of(IMAGES, runtime_handler="arm") == 1)
        assert numbers.of(IMAGES, runtime_handler="") == 1


async def test_images_are_counted_at_the_start_and_again_in_each_period(stand: Stand) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    numbers, clock = Numbers(), VirtualClock()
    await stand.runtime.pull(ImageSpec(image=tag))
    async with tasks.started(beside_a_kubelet(stand.runtime, stand.state, clock, numbers).run()):
        await until(clock, lambda: numbers.of(IMAGES, runtime_handler="") == 1)
        await stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
        await until(clock, lambda: numbers.of(IMAGES, runtime_handler="arm") == 1)


async def test_a_runtime_that_does_not_answer_is_counted_and_asked_again(tmp_path: Path) -> None:
    numbers, clock = Numbers(), VirtualClock()
    state = ImageStateFile(LocalStateFile(tmp_path / "images.json"))
    async with (
        calls.channel_to(f"unix://{tmp_path}/absent.sock") as channel,
        tasks.started(beside_a_kubelet(CriClient(channel), state, clock, numbers).run()),
    ):
        await until(clock, lambda: numbers.of(LIST_FAILURES) >= 2)


async def test_beside_a_kubelet_ages_are_recorded_and_nothing_is_removed(full: FullNode) -> None:
    for _ in range(3):
        await full.collect(policy=None)
        await full.clock.advance(PERIOD_SECONDS)
    assert await full.used_percent() >= 85
    assert await tags_left(full.stand) == set(full.tags)
    report = await full.collection(policy=None).preview()
    assert report is not None
    assert [one.decision for one in report.verdicts].count(GcDecision.REMOVE) == 2


async def test_a_preview_beside_a_kubelet_has_the_thresholds_of_the_kubelet(full: FullNode) -> None:
    await full.collect(policy=None)
    await full.clock.advance(PERIOD_SECONDS)
    limits = KubeletLimits(image_gc_high_threshold_percent=72, image_gc_low_threshold_percent=61)
    report = await full.collection(policy=None, kubelet=FixedLimits(limits)).preview()
    assert report is not None
    assert (report.high_threshold_percent, report.low_threshold_percent) == (72, 61)
    assert report.freed_bytes >= report.wanted_bytes > CAPACITY_BYTES * (85 - 61) // 100


async def test_a_preview_is_the_plan_of_the_next_reconcile_and_removes_nothing(
    full: FullNode,
) -> None:
    await full.collect()
    await full.clock.advance(PERIOD_SECONDS)
    collection = full.collection()
    report = await collection.preview()
    assert report is not None
    assert await tags_left(full.stand) == set(full.tags)
    goes = {one.names[0] for one in report.verdicts if one.decision is GcDecision.REMOVE}
    assert (report.used_percent, report.high_threshold_percent) == (
        await full.used_percent(), 85,
    )  # fmt: skip
    assert report.freed_bytes >= report.wanted_bytes > 0
    await collection.reconcile(KEY)
    assert await tags_left(full.stand) == set(full.tags) - goes


async def test_a_preview_asks_the_runtime_once_however_often_it_is_wanted(full: FullNode) -> None:
    collection = full.collection()
    first, same = await asyncio.gather(collection.preview(), collection.preview())
    await full.stand.runtime.remove(ImageSpec(image=full.tags[0]))
    assert await collection.preview() == first == same
    await full.clock.advance(PREVIEW_KEPT.total_seconds())
    later = await collection.preview()
    assert first is not None
    assert later is not None
    assert len(later.verdicts) == len(first.verdicts) - 1


async def test_a_runtime_that_does_not_answer_has_no_preview(full: FullNode) -> None:
    runtime = CannotListContainers(full.stand.runtime)
    assert await full.collection(runtime=runtime).preview() is None


def test_the_policy_beside_a_kubelet_is_its_own() -> None:
    limits = KubeletLimits(
        image_gc_high_threshold_percent=70,
        image_gc_low_threshold_percent=60,
        image_minimum_gc_age=timedelta(minutes=5),
        image_maximum_gc_age=timedelta(days=7),
    )
    assert policy_of(limits) == GcPolicy(
        high_threshold_percent=70,
        low_threshold_percent=60,
        minimum_age=timedelta(minutes=5),
        maximum_age=timedelta(days=7),
    )
    odd = KubeletLimits(image_gc_high_threshold_percent=50)
    assert policy_of(odd).low_threshold_percent == 50
