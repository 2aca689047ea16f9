"""Collecting on a real embedded node: what is gone, what is left, and what is remembered."""

import asyncio
import errno
from dataclasses import dataclass, replace
from datetime import timedelta

import prometheus_client
import pytest

from lading.adapters.clock import VirtualClock
from lading.adapters.disk import LimitedDisk, MachineDisk
from lading.kernel import platforms, references
from lading.loop import tasks
from lading.ports.cri import Container, ContainerState, Cri, CriError, Image, ImageSpec, Inspection
from lading.runtime_images import apply, cleanup, observe, resolve, state
from lading.runtime_images import plan as planning
from lading.runtime_images.apply import Outcome, Removal
from lading.runtime_images.controller import PERIOD_SECONDS, Collector
from lading.runtime_images.gate import WithoutHandlers
from lading.runtime_images.metrics import ImageMetrics
from lading.runtime_images.types import Policy, Reason, RemovalPlan, Resolution, key_of
from lading.standalone import sample_images
from tests.runtime_images.conftest import Stand

LAYER_BYTES = 100_000
CAPACITY_BYTES = 1_000_000
ARM = platforms.parse("linux/arm64")
AT_ONCE = Policy(everything_unused=True, minimum_age=timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """A node whose images fill nine tenths of its disk."""

    stand: Stand
    tags: tuple[str, ...]
    clock: VirtualClock
    collector: Collector


@pytest.fixture
async def crowd(stand: Stand) -> Crowd:
    clock = VirtualClock()
    disk = LimitedDisk(stand.runtime, capacity_bytes=CAPACITY_BYTES)
    tags = tuple([await published(stand, f"app{number}:1") for number in range(9)])
    for tag in tags:
        await stand.runtime.pull(ImageSpec(image=tag))
    return Crowd(
        stand=stand,
        tags=tags,
        clock=clock,
        collector=Collector(
            runtime=stand.runtime,
            disk=disk,
            document=stand.document,
            clock=clock,
            policy=Policy(),
            metrics=ImageMetrics(prometheus_client.CollectorRegistry()),
        ),
    )


async def published(stand: Stand, name: str, *platforms: str) -> str:
    contents = {
        platform: [sample_images.noise(f"{name} {platform}", size_bytes=LAYER_BYTES)]
        for platform in platforms or ("linux/amd64",)
    }
    return await stand.publisher.index(name, contents)


def container(image_id: str, *, handler: str = "", mounts: str = "") -> Container:
    volumes = (ImageSpec(image=mounts, runtime_handler=handler),) if mounts else ()
    return Container(
        id="1",
        name="web",
        state=ContainerState.RUNNING,
        image=ImageSpec(image=image_id, runtime_handler=handler),
        image_id=image_id,
        image_volumes=volumes,
    )


async def tags_left(stand: Stand) -> set[str]:
    return {tag for image in await stand.runtime.images() for tag in image.repo_tags}


async def used_percent(crowd: Crowd) -> int:
    space = await crowd.collector.disk.space(str(crowd.stand.folder / "runtime"))
    assert space is not None
    return planning.used_percent(space)


async def test_a_first_look_removes_nothing_and_a_later_one_frees_to_the_low_threshold(
    crowd: Crowd,
) -> None:
    assert await used_percent(crowd) >= 85
    assert await crowd.collector.collect() == ()
    await crowd.clock.advance(PERIOD_SECONDS)
    removals = await crowd.collector.collect()
    assert {removal.outcome for removal in removals} == {Outcome.REMOVED}
    assert 65 < await used_percent(crowd) <= 80
    assert len(await tags_left(crowd.stand)) == 9 - len(removals)


async def test_ages_survive_a_restart(crowd: Crowd) -> None:
    await crowd.collector.collect()
    await crowd.clock.advance(PERIOD_SECONDS)
    restarted = replace(crowd.collector)
    assert await restarted.collect() != ()


@pytest.mark.parametrize(
    "spoilt", [b'{"version": 1, "memory": {"looked_at": "yester', b'{"memory": "\xff"}']
)
async def test_an_unreadable_state_file_is_a_fresh_start(crowd: Crowd, spoilt: bytes) -> None:
    await crowd.collector.collect()
    await crowd.clock.advance(PERIOD_SECONDS)
    await crowd.stand.document.replace(spoilt)
    assert await crowd.collector.collect() == ()
    assert (await state.load(crowd.stand.document)).memory is not None


async def test_images_in_use_and_mounted_survive_the_fullest_disk(crowd: Crowd) -> None:
    used, mounted, *_ = await crowd.stand.runtime.images()
    crowd.stand.embedded.declare_containers([container(used.id, mounts=mounted.id)])
    greedy = replace(crowd.collector, policy=AT_ONCE)
    await greedy.collect()
    assert await tags_left(crowd.stand) == {*used.repo_tags, *mounted.repo_tags}


async def plan_everything(stand: Stand) -> RemovalPlan:
    observed = await observe.observe(stand.runtime, MachineDisk(), stand.document)
    return planning.plan(observed, AT_ONCE, VirtualClock().now())


async def carry_out(plan: RemovalPlan, stand: Stand) -> list[Removal]:
    return [removal async for removal in apply.apply(plan, stand.runtime, stand.document)]


async def test_an_image_that_came_into_use_after_the_plan_is_kept(stand: Stand) -> None:
    tag = await published(stand, "app:1")
    image_id = await stand.runtime.pull(ImageSpec(image=tag))
    plan = await plan_everything(stand)
    stand.embedded.declare_containers([container(image_id)])
    (removal,) = await carry_out(plan, stand)
    assert removal.outcome is Outcome.KEPT
    assert "container web" in removal.message
    assert await tags_left(stand) == {tag}


async def test_collecting_for_one_handler_leaves_the_same_tag_of_another(stand: Stand) -> None:
    tag = await published(stand, "app:1", "linux/amd64", "linux/arm64")
    for handler in ("", "arm"):
        await stand.runtime.pull(ImageSpec(image=tag, runtime_handler=handler))
    observed = await observe.observe(stand.runtime, MachineDisk(), stand.document)
    policy = replace(AT_ONCE, only_handler="arm")
    await carry_out(planning.plan(observed, policy, VirtualClock().now()), stand)
    assert [image.runtime_handler for image in await stand.runtime.images()] == [""]


async def test_shared_layers_are_known_on_the_embedded_runtime(stand: Stand) -> None:
    shared = sample_images.noise("shared", size_bytes=LAYER_BYTES)
    for name in ("one:1", "two:1"):
        layers = {"linux/amd64": [shared, name.encode()]}
        await stand.runtime.pull(ImageSpec(image=await stand.publisher.index(name, layers)))
    frees = [verdict.frees_bytes for verdict in (await plan_everything(stand)).verdicts]
    assert frees[0] < LAYER_BYTES <= frees[1]


async def test_the_metric_counts_images_by_handler(crowd: Crowd) -> None:
    tag = await published(crowd.stand, "guest:1", "linux/arm64")
    await crowd.stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
    registry = prometheus_client.CollectorRegistry()
    await replace(crowd.collector, metrics=ImageMetrics(registry)).collect()
    counts = {
        handler: registry.get_sample_value("lading_runtime_images", {"runtime_handler": handler})
        for handler in ("", "arm")
    }
    assert counts == {"": 9, "arm": 1}


async def test_the_clean_up_removes_what_was_pulled_for_handlers_and_names_what_to_restart(
    stand: Stand,
) -> None:
    both = await published(stand, "both:1", "linux/amd64", "linux/arm64")
    arm_only = await published(stand, "arm-only:1", "linux/arm64")
    await stand.runtime.pull(ImageSpec(image=both))
    await stand.runtime.pull(ImageSpec(image=both, runtime_handler="arm"))
    used = await stand.runtime.pull(ImageSpec(image=arm_only, runtime_handler="arm"))
    stand.embedded.declare_containers([container(used, handler="arm")])
    observed = await observe.observe(stand.runtime, MachineDisk(), stand.document)
    plan = cleanup.plan(observed, VirtualClock().now())
    assert "restart" in plan.notes[0]
    await carry_out(plan, stand)
    left = {
        (tag, image.runtime_handler)
        for image in await stand.runtime.images()
        for tag in image.repo_tags
    }
    assert left == {(both, ""), (arm_only, "arm")}


async def test_the_clean_up_knows_what_was_pulled_by_digest_for_a_handler(stand: Stand) -> None:
    tag = await published(stand, "app:1", "linux/amd64", "linux/arm64")
    by_digest = str(await resolve.manifest_for(stand.registry, references.parse(tag), ARM))
    await stand.runtime.pull(ImageSpec(image=by_digest))
    assert (await clean_up(stand)).actions == ()
    await remember(stand, tag=tag, pulled=by_digest)
    plan = await clean_up(stand)
    removals = [removal async for removal in apply.apply(plan, stand.runtime, stand.document)]
    assert [removal.outcome for removal in removals] == [Outcome.REMOVED]
    assert (await state.load(stand.document)).resolutions == (), "nothing is left to clean up"


async def test_the_clean_up_keeps_what_is_the_hosts_too(stand: Stand) -> None:
    """The guests of most virtual machines have the host's platform, and so the host's image."""
    tag = await published(stand, "app:1")
    await stand.runtime.pull(ImageSpec(image=tag))
    (image,) = await stand.runtime.images()
    await remember(stand, tag=tag, pulled=image.repo_digests[0])
    (verdict,) = (await clean_up(stand)).verdicts
    assert (verdict.reason, verdict.message) == (
        Reason.DEFAULT_HANDLER,
        "it is the host's too, by another name",
    )


async def remember(stand: Stand, *, tag: str, pulled: str) -> None:
    resolution = Resolution(
        reference=tag, runtime_handler="arm", platform="linux/arm64", pulled=pulled
    )
    await state.save_resolution(stand.document, resolution)


async def clean_up(stand: Stand) -> RemovalPlan:
    observed = await observe.observe(stand.runtime, MachineDisk(), stand.document)
    return cleanup.plan(observed, VirtualClock().now())


@dataclass(slots=True)
class OnFullDisk:
    """Can be written only once the runtime has no images any more."""

    runtime: Cri
    content: bytes | None = None

    async def read(self) -> bytes | None:
        return self.content

    async def replace(self, content: bytes) -> None:
        if await self.runtime.images():
            raise OSError(errno.ENOSPC, "No space left on device")
        self.content = content


async def test_on_a_disk_so_full_that_nothing_can_be_noted_images_are_removed_all_the_same(
    crowd: Crowd,
) -> None:
    document = OnFullDisk(crowd.stand.runtime)
    collector = replace(crowd.collector, document=document, policy=AT_ONCE)
    assert {removal.outcome for removal in await collector.collect()} == {Outcome.REMOVED}
    assert (await state.load(document)).memory is not None


class Taciturn(WithoutHandlers):
    """Cannot tell anything about one of its images."""

    async def inspect(self, spec: ImageSpec) -> Inspection | None:
        (first, *_) = await self.images()
        if spec.image == first.id:
            raise CriError(f"ImageStatus of {spec.image} failed")
        return await super().inspect(spec)


async def test_an_image_that_the_runtime_cannot_tell_about_stops_no_collection(
    crowd: Crowd,
) -> None:
    runtime = Taciturn(crowd.stand.runtime)
    collector = replace(crowd.collector, runtime=runtime, policy=AT_ONCE)
    assert {removal.outcome for removal in await collector.collect()} == {Outcome.REMOVED}
    assert await crowd.stand.runtime.images() == ()


class Broken(WithoutHandlers):
    async def containers(self) -> tuple[Container, ...]:
        raise CriError("ListContainers failed")


async def test_a_look_that_fails_is_counted_and_the_next_one_comes(crowd: Crowd) -> None:
    registry = prometheus_client.CollectorRegistry()
    collector = replace(
        crowd.collector, runtime=Broken(crowd.stand.runtime), metrics=ImageMetrics(registry)
    )
    async with tasks.started(collector.run()):
        async with asyncio.timeout(10):
            while (registry.get_sample_value("lading_runtime_images_list_failures_total") or 0) < 2:
                await crowd.clock.advance(PERIOD_SECONDS)
                await asyncio.sleep(0.01)


class ByNameOnly(WithoutHandlers):
    """Finds images by their names only, as CRI-O finds artifacts."""

    async def image(self, spec: ImageSpec) -> Image | None:
        return None if spec.image.startswith("sha256:") else await super().image(spec)

    async def remove(self, spec: ImageSpec) -> None:
        if not spec.image.startswith("sha256:"):
            await super().remove(spec)


async def test_an_image_that_the_runtime_finds_by_its_names_only_is_removed_too(
    stand: Stand,
) -> None:
    await stand.runtime.pull(ImageSpec(image=await published(stand, "app:1")))
    (image,) = await stand.runtime.images()
    assert await apply.remove(key_of(image), ByNameOnly(stand.runtime))
    assert await stand.runtime.images() == ()


async def test_a_name_that_means_another_image_is_not_removed_in_its_place(stand: Stand) -> None:
    """Without the gate both images of the tag are listed as the host's."""
    tag = await published(stand, "app:1", "linux/amd64", "linux/arm64")
    host = await stand.runtime.pull(ImageSpec(image=tag))
    await stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
    runtime = WithoutHandlers(stand.runtime)
    (arm,) = [image for image in await runtime.images() if image.id != host]
    assert not await apply.remove(key_of(arm), runtime)
    assert {image.id for image in await stand.runtime.images()} == {host, arm.id}
