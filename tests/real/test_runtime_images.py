"""Images per runtime class on runtimes that ignore the class: what is had by digest, and kept."""

import asyncio
import json
import pathlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.adapters.disk import MachineDisk
from lading.adapters.registry import client as registry_client
from lading.adapters.state_files import LocalStateFile
from lading.embedded import sample_images
from lading.embedded.sample_images import SampleImage
from lading.kernel import platforms, references
from lading.kernel.digests import Digest
from lading.kernel.platforms import Platform
from lading.kernel.values import replace
from lading.ports.cri import ImageSpec
from lading.ports.registry import Registry
from lading.runtime_images import apply, cleanup, ensure, handlers, observe
from lading.runtime_images import images as node_images
from lading.runtime_images import plan as planning
from lading.runtime_images.apply import RemovalOutcome
from lading.runtime_images.ensure import Delivery, Ensured, ImageNode, Wanted
from lading.runtime_images.gc_types import GcDecision, GcPolicy, GcReason
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import ImageHandlers, local_id
from lading.wire import calls
from tests.real.bed import registry, runtime

HANDLER = "runc"  # every runtime of the bed has it; containerd 1.7 refuses one it does not have
GUESTS = (platforms.parse("linux/arm64"), platforms.parse("windows(10.0.17763)/amd64"))
NO_PLATFORM = Platform(os="", architecture="")
PLATFORMS = (platforms.parse("linux/amd64"), *GUESTS)
FIXTURES = [
    pytest.param("containerd_2_3", marks=pytest.mark.components("containerd", "registry")),
    pytest.param("containerd_1_7", marks=pytest.mark.components("containerd", "registry")),
    pytest.param("crio_1_36", marks=pytest.mark.components("cri-o", "registry")),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    runtime: CriClient
    endpoint: str
    disk: MachineDisk
    registry: Registry
    state: ImageStateFile
    tag: str

    async def ensure(self, guest: Platform | None = None) -> Ensured:
        """The image for the host, or for a handler with guests of that platform."""
        node = ImageNode(
            runtime=self.runtime,
            registry=self.registry,
            state=self.state,
            guests={HANDLER: guest} if guest else {},
        )
        handler = HANDLER if guest else ""
        return await ensure.ensure(Wanted(image=self.tag, runtime_handler=handler), node)


@pytest.fixture(params=FIXTURES)
async def stand(
    request: pytest.FixtureRequest, registry_3_1: registry.Registry, tmp_path: pathlib.Path
) -> AsyncIterator[Stand]:
    running: runtime.Runtime = request.getfixturevalue(request.param)
    # A repository for each test: the runtimes live on, and keep what they pulled.
    tag = f"{registry_3_1.host}/{tmp_path.name.replace('_', '-')}/app:1".lower()
    async with (
        calls.channel_to(running.endpoint) as channel,
        registry_client.connect(SystemClock()) as client,
    ):
        await push(client, tag)
        cri = CriClient(channel)
        yield Stand(
            runtime=cri,
            endpoint=running.endpoint,
            disk=MachineDisk(running.host_root),
            registry=client,
            state=ImageStateFile(LocalStateFile(tmp_path / "images.json")),
            tag=tag,
        )
        for image in await ours(cri, tag):
            await cri.remove(ImageSpec(image=image))


async def push(client: Registry, tag: str) -> None:
    samples = [
        sample_images.image([{"content": f"{tag} {platform}".encode()}], platform=platform)
        for platform in PLATFORMS
    ]
    await sample_images.push(client, references.parse(tag), sample_images.index(samples))


async def ours(cri: CriClient, tag: str) -> set[str]:
    repository = tag.rpartition(":")[0]
    return {
        image.id
        for image in await cri.images()
        if any(name.startswith(repository) for name in (*image.repo_tags, *image.repo_digests))
    }


async def test_the_runtime_is_seen_to_ignore_handlers(stand: Stand) -> None:
    assert not await handlers.are_honoured(stand.runtime)


async def test_each_runtime_class_gets_its_own_image_by_digest(stand: Stand) -> None:
    host = await stand.ensure()
    guests = [await stand.ensure(guest) for guest in GUESTS]
    assert {guest.delivery for guest in guests} == {Delivery.BY_DIGEST}
    expected = {host.image_id, *(guest.image_id for guest in guests)}
    assert len(expected) == 3
    assert await ours(stand.runtime, stand.tag) == expected
    for guest in guests:
        found = await stand.runtime.image(ImageSpec(image=guest.named))
        assert found is not None
        assert found.id == guest.image_id


async def test_a_tag_means_the_guests_image_when_its_class_is_asked_for(stand: Stand) -> None:
    spec = ImageSpec(image=stand.tag, runtime_handler=HANDLER)
    host = await stand.ensure()
    assert await node_images.find(stand.runtime, stand.state, spec) is None
    guest = await stand.ensure(GUESTS[0])
    found = await node_images.find(stand.runtime, stand.state, spec)
    assert found is not None
    assert found.id == guest.image_id != host.image_id


async def test_the_command_says_that_pods_must_name_the_digest(
    stand: Stand, tmp_path: pathlib.Path
) -> None:
    table = tmp_path / "guest-platforms.toml"
    table.write_text(f'[runtime_platforms.{HANDLER}]\nplatform = "linux/arm64"\n')
    common = (
        f"--runtime-endpoint={stand.endpoint}",
        f"--state-dir={tmp_path}",
        f"--runtime-config={table}",
        "--feature-gates=RuntimeClassInImageCriApi=true",
        f"--runtime=handler:{HANDLER}",
    )
    output = await lading("image", "pull", *common, stand.tag)
    named = output.rpartition("pods must name it as ")[2].strip()
    assert named.startswith(f"{stand.tag.rpartition(':')[0]}@sha256:")
    assert await stand.runtime.image(ImageSpec(image=named)) is not None
    (row,) = (await lading("image", "ls", *common)).splitlines()[1:]
    assert row.endswith(f"[handler:{HANDLER}]")
    await lading("image", "rm", *common, stand.tag)
    assert await ours(stand.runtime, stand.tag) == set()


async def test_the_command_names_what_there_is_when_nothing_is_for_the_host(stand: Stand) -> None:
    """The runtimes themselves only say that nothing fits."""
    tag = f"{stand.tag.rpartition('/')[0]}/foreign:1"
    foreign = sample_images.index([sample_images.image([{}], platform=guest) for guest in GUESTS])
    await sample_images.push(stand.registry, references.parse(tag), foreign)
    output = await lading("image", "pull", f"--runtime-endpoint={stand.endpoint}", tag, code=1)
    assert f"{tag}: no image for linux/amd64: the index offers linux/arm64" in output


async def lading(*arguments: str, code: int = 0) -> str:
    """What the command printed, on both streams."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from lading.cli.main import main; main()",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == code, output.decode()
    return output.decode()


async def test_the_clean_up_removes_the_guests_images_and_keeps_the_hosts(stand: Stand) -> None:
    host = await stand.ensure()
    await stand.ensure(GUESTS[0])
    observed = await observe.observe(stand.runtime, stand.disk, stand.state)
    plan = cleanup.plan(observed, SystemClock().now())
    (action,) = plan.removals
    now = SystemClock().now()
    removal = await apply.remove_planned(action, stand.runtime, stand.state, now)
    assert removal.outcome is RemovalOutcome.REMOVED
    assert await ours(stand.runtime, stand.tag) == {host.image_id}


async def test_the_image_of_guests_like_the_host_is_the_hosts_and_survives_the_clean_up(
    stand: Stand,
) -> None:
    host = await stand.ensure()
    guest = await stand.ensure(platforms.parse("linux/amd64"))
    assert guest.image_id == host.image_id
    observed = await observe.observe(stand.runtime, stand.disk, stand.state)
    plan = cleanup.plan(observed, SystemClock().now())
    (verdict,) = [one for one in plan.verdicts if one.image.id == host.image_id]
    assert verdict.reason is GcReason.DEFAULT_HANDLER
    assert plan.handlers[verdict.local_id] == ImageHandlers(listed="", by_digest=(HANDLER,))


@pytest.mark.parametrize("stand", [FIXTURES[0], FIXTURES[-1]], indirect=True)
async def test_an_artifact_is_gone_once_it_was_removed(stand: Stand) -> None:
    """CRI-O finds artifacts by their names only, and containerd 1.7 takes none."""
    tag = f"{stand.tag.rpartition('/')[0]}/artifact:1"
    artifact = sample_images.image([{"model": b"weights"}], platform=NO_PLATFORM)
    await sample_images.push(stand.registry, references.parse(tag), as_artifact(artifact))
    await stand.runtime.pull(ImageSpec(image=tag))
    (image,) = node_images.merged(
        [one for one in await stand.runtime.images() if tag in one.repo_tags]
    )
    assert await apply.remove(local_id(image), stand.runtime)
    assert image.id not in {one.id for one in await stand.runtime.images()}


def as_artifact(image: SampleImage) -> SampleImage:
    """The same, with a configuration that no runtime takes for an image's."""
    document = json.loads(image.manifest.content)
    document["config"]["mediaType"] = "application/vnd.example.model+json"
    content = json.dumps(document).encode()
    manifest = replace(image.manifest, content=content, digest=Digest.of(content))
    return replace(image, manifest=manifest)


async def test_a_plan_of_garbage_collection_keeps_the_sandbox_image_and_removes_ours(
    stand: Stand,
) -> None:
    host = await stand.ensure()
    observed = await observe.observe(stand.runtime, stand.disk, stand.state)
    assert observed.space is not None
    policy = GcPolicy(everything_unused=True, minimum_age=timedelta(0))
    plan = planning.plan(observed, policy, SystemClock().now())
    decisions = {verdict.image.id: verdict for verdict in plan.verdicts}
    assert decisions[host.image_id].decision is GcDecision.REMOVE
    untouched = {GcReason.PINNED, GcReason.SANDBOX_IMAGE, GcReason.MAY_BE_SANDBOX_IMAGE}
    for verdict in plan.verdicts:
        if any("pause" in name for name in verdict.image.repo_tags):
            assert verdict.reason in untouched
