"""What an agent pulled by digest for a runtime class is found by `lading image`."""

import asyncio
from pathlib import Path

from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.disk import MachineDisk
from lading.adapters.kubelet import FixedLimits
from lading.adapters.state_files import LocalStateDirectory, LocalStateFile
from lading.kernel import platforms, references
from lading.kernel.images import ImageKey
from lading.pinned_images.node.metrics import PinMetrics
from lading.ports import platform_image
from lading.ports.cri import ImageSpec
from lading.ports.node import KubeletLimits, NodeParts, NodeRuntime
from lading.runtime_images import images as node_images
from lading.runtime_images.handlers import WithoutHandlers
from lading.runtime_images.state import ImageStateFile
from lading.wiring import host
from lading.wiring.gates import parse_gates
from lading.wiring.host import DigestPullRecorder, open_runtime
from lading.wiring.registries import open_registries
from tests.runtime_images.conftest import GUESTS, Stand, stand

__all__ = ["stand"]

LAYERS = {"linux/amd64": [b"for the host"], "linux/arm64": [b"for arm guests"]}
GATES = parse_gates("RuntimeClassInImageCriApi=true")
ARM = platforms.parse("linux/arm64")


async def test_an_image_of_a_class_is_found_after_the_agent_pulled_it(stand: Stand) -> None:
    tag = await stand.publisher.index("app:1", LAYERS)
    reference = references.parse(tag)
    found = await platform_image.resolve(stand.registry, reference, ARM, for_guest=True)
    by_digest = found.manifest
    clock = SystemClock()
    async with (
        open_runtime(stand.endpoint, clock) as runtime,
        open_registries(clock) as registries,
    ):
        blind = WithoutHandlers(runtime.cri)
        parts = NodeParts(
            runtime=NodeRuntime(cri=blind, pins=runtime.pins),
            registry=registries.client,
            credentials=registries.credentials,
            disk=MachineDisk(),
            kubelet=FixedLimits(KubeletLimits()),
            platform_of=GUESTS.__getitem__,
            state=LocalStateDirectory(stand.folder),
        )
        ended = asyncio.Event()
        metrics = PinMetrics(CollectorRegistry())
        async with host.open_tools(
            parts, clock, gates=GATES, metrics=metrics, changed=ended.set
        ) as tools:
            key = ImageKey(tag, "arm")
            tools.pulls.start(key, ImageSpec(image=by_digest), new_bytes=0)
            await asyncio.wait_for(ended.wait(), 30)
        wanted = ImageSpec(image=tag, runtime_handler="arm")
        image = await node_images.find(blind, ImageStateFile(parts.image_state), wanted)
    assert image is not None
    assert by_digest in image.repo_digests


async def test_pulls_that_end_at_once_are_all_recorded(tmp_path: Path) -> None:
    state = ImageStateFile(LocalStateFile(tmp_path / "images.json"))
    recorder = DigestPullRecorder(state, GUESTS.__getitem__)
    keys = [ImageKey(f"example.test/app:{number}", "arm") for number in range(20)]
    spec = ImageSpec(image=f"example.test/app@sha256:{'0' * 64}")
    await asyncio.gather(*(recorder.record(key, spec) for key in keys))
    known = (await state.load()).digest_pulls
    assert {one.reference for one in known} == {key.image for key in keys}


async def test_nothing_is_recorded_where_the_runtime_knows_the_handler(tmp_path: Path) -> None:
    file = LocalStateFile(tmp_path / "images.json")
    recorder = DigestPullRecorder(ImageStateFile(file), GUESTS.__getitem__)
    spec = ImageSpec(image="example.test/app:1", runtime_handler="arm")
    await recorder.record(ImageKey(spec.image, "arm"), spec)
    await recorder.record(ImageKey(spec.image), ImageSpec(image=spec.image))
    assert await file.read() is None


async def test_a_record_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "images.json").mkdir()
    state = ImageStateFile(LocalStateFile(tmp_path / "images.json"))
    recorder = DigestPullRecorder(state, GUESTS.__getitem__)
    await recorder.record(
        ImageKey("example.test/app:1", "arm"), ImageSpec(image="example.test/app")
    )
