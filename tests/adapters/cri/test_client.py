"""The client against the embedded service over a real socket: cancelling, restarting, limits."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.embedded.cri import server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.kernel import platforms
from lading.ports import cri
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential
from lading.wire import calls
from tests.embedded.cri.memory_registry import MemoryRegistry

BIG = b"x" * 100_000


async def test_cancelling_a_pull_stops_it_in_the_runtime(
    cri_client: CriClient, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1", layers=(BIG,))
    registry.stalls = True
    pull = asyncio.create_task(cri_client.pull(ImageSpec(image="r.io/a:1")))
    await registry.stalled.wait()
    pull.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    await asyncio.wait_for(registry.abandoned.wait(), timeout=10)
    assert await cri_client.images() == ()


async def test_a_stopped_runtime_is_unavailable_and_answers_again_after_its_restart(
    runtime: EmbeddedRuntime, tmp_path: Path
) -> None:
    socket = tmp_path / "cri.sock"
    async with calls.channel_to(f"unix://{socket}") as channel:
        cri_client = CriClient(channel)
        with pytest.raises(cri.Unavailable, match=r"^cannot connect to \S+: No such file"):
            await cri_client.version()
        for _ in range(2):
            async with server.serve(runtime, socket):
                assert await answered(cri_client) == "lading"
            with pytest.raises(cri.Unavailable):
                await cri_client.version()


async def answered(cri_client: CriClient) -> str:
    async with asyncio.timeout(10):
        while True:
            try:
                return (await cri_client.version()).name
            except cri.Unavailable:
                await asyncio.sleep(0.05)


async def test_a_runtime_that_is_stopped_during_a_pull_fails_it_as_unavailable(
    runtime: EmbeddedRuntime, registry: MemoryRegistry, tmp_path: Path
) -> None:
    registry.add_image("r.io/a:1", layers=(BIG,))
    registry.stalls = True
    async with calls.channel_to(f"unix://{tmp_path / 'cri.sock'}") as channel:
        async with server.serve(runtime, tmp_path / "cri.sock"):
            pull = asyncio.create_task(CriClient(channel).pull(ImageSpec(image="r.io/a:1")))
            await registry.stalled.wait()
        with pytest.raises(cri.Unavailable):
            await pull


async def test_a_list_larger_than_the_usual_message_limit_arrives(
    cri_client: CriClient, runtime: EmbeddedRuntime
) -> None:
    long_name = "n" * 50_000
    runtime.declare_containers(
        cri.Container(
            id=str(number),
            name=long_name,
            state=cri.ContainerState.RUNNING,
            image=ImageSpec(image="r.io/a:1"),
            image_id="sha256:1",
        )
        for number in range(100)
    )
    assert len(await cri_client.containers()) == 100


async def test_containers_tell_every_image_that_they_keep_in_use(
    cri_client: CriClient, runtime: EmbeddedRuntime
) -> None:
    container = cri.Container(
        id="c1",
        name="app",
        state=cri.ContainerState.EXITED,
        image=ImageSpec(image="r.io/a:1", runtime_handler="kata"),
        image_id="sha256:1",
        image_volumes=(ImageSpec(image="r.io/model:7"),),
    )
    runtime.declare_containers([container])
    assert await cri_client.containers() == (container,)


async def test_a_container_that_went_away_meanwhile_still_counts(
    registry: MemoryRegistry, root: Path, tmp_path: Path
) -> None:
    container = cri.Container(
        id="c1",
        name="app",
        state=cri.ContainerState.RUNNING,
        image=ImageSpec(image="r.io/a:1"),
        image_id="sha256:1",
    )

    class Fleeting(EmbeddedRuntime):
        async def containers(self) -> tuple[cri.Container, ...]:
            listed = await super().containers()
            self.declare_containers(())
            return listed

    runtime = Fleeting(
        root=root,
        registry=registry,
        clock=SystemClock(),
        platform=platforms.parse("linux/amd64"),
    )
    runtime.declare_containers([container])
    with contextlib.closing(runtime):
        async with (
            server.serve(runtime, tmp_path / "cri.sock") as endpoint,
            calls.channel_to(endpoint) as channel,
        ):
            assert await CriClient(channel).containers() == (container,)


async def test_the_credential_of_a_pull_reaches_the_registry(
    cri_client: CriClient, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/a:1")
    credential = Credential(
        username="user",
        password="secret",
        identity_token="identity",
        registry_token="token",
        server_address="https://r.io",
    )
    await cri_client.pull(ImageSpec(image="r.io/a:1"), credential)
    assert registry.credentials == [credential]
    assert "secret" not in repr(credential)


async def test_the_kind_of_an_error_survives_the_socket(cri_client: CriClient) -> None:
    with pytest.raises(cri.UnknownHandler, match=r"no-such.*known: arm, kata, wcow-2019"):
        await cri_client.pull(ImageSpec(image="r.io/a:1", runtime_handler="no-such"))
    with pytest.raises(cri.InvalidReference, match="names no registry"):
        await cri_client.pull(ImageSpec(image="busybox"))
    with pytest.raises(cri.ImageNotFound, match="manifest unknown"):
        await cri_client.pull(ImageSpec(image="r.io/none:1"))


@pytest.mark.parametrize(
    "spec",
    [ImageSpec(image="r.io/\udcff:1"), ImageSpec(image="r.io/a:1", runtime_handler="\udcff")],
)
async def test_what_is_no_utf_8_is_an_invalid_reference(
    cri_client: CriClient, spec: ImageSpec
) -> None:
    for call in (cri_client.image, cri_client.inspect, cri_client.pull, cri_client.remove):
        with pytest.raises(cri.InvalidReference, match="is not UTF-8"):
            await call(spec)


async def test_an_endless_error_costs_its_own_call_only(
    cri_client: CriClient, registry: MemoryRegistry
) -> None:
    registry.add_image("r.io/slow:1", layers=(BIG,))
    platform = {"os": "linux", "architecture": "s390x", "os.version": "9" * 480}
    foreign = (registry.add_image(platform="linux/s390x"), platform)
    registry.add_index("r.io/foreign:1", *[foreign] * 10)
    registry.stalls = True
    other = asyncio.create_task(cri_client.pull(ImageSpec(image="r.io/slow:1")))
    await registry.stalled.wait()
    with pytest.raises(cri.NoMatchingPlatform, match=r"offers linux\(9+\)/s390x.* \.\.\.$"):
        await cri_client.pull(ImageSpec(image="r.io/foreign:1"))
    assert not other.done()
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other
