"""Runtime handlers: from the class in the cluster, in the runtime, and behind the gate."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import RUNTIME_CLASSES
from lading.embedded import api_server
from lading.ports.cri import ImageSpec
from lading.runtime_images import handlers
from lading.runtime_images.handlers import WithoutHandlers
from lading.runtime_images.types import UnknownRuntimeClass
from lading.wiring.gates import parse_gates
from tests.runtime_images.conftest import Stand

TWO_PLATFORMS = {"linux/amd64": [b"for the host"], "linux/arm64": [b"for arm guests"]}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with api_server.serve(tmp_path / "api", SystemClock()) as api:
        client = KubeClient(api.exchange)
        body = {"metadata": {"name": "isolated"}, "handler": "kata-qemu"}
        await client.create(RUNTIME_CLASSES, body)
        yield client


async def test_the_handler_is_the_one_that_the_runtime_class_names(cluster: KubeClient) -> None:
    assert await handlers.handler_of_class(cluster, "isolated") == "kata-qemu"


async def test_no_runtime_class_means_the_default_handler(cluster: KubeClient) -> None:
    assert await handlers.handler_of_class(cluster, "") == ""


async def test_an_unknown_runtime_class_is_named_with_the_next_step(cluster: KubeClient) -> None:
    with pytest.raises(UnknownRuntimeClass, match=r"'kata'.*kubectl get runtimeclass"):
        await handlers.handler_of_class(cluster, "kata")


async def test_a_runtime_that_keeps_images_by_handler_is_known_by_its_answers(stand: Stand) -> None:
    async def answers() -> tuple[bool, bool]:
        runtime = stand.runtime
        honours = await handlers.are_honoured(runtime)
        return honours, await handlers.are_honoured(WithoutHandlers(runtime))

    assert await answers() == (True, False)
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    await stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
    assert await answers() == (True, False)


async def test_with_the_gate_off_no_handler_goes_in_or_out(stand: Stand) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    runtime = handlers.gated(stand.runtime, parse_gates(""))
    await runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
    assert [image.runtime_handler for image in await stand.runtime.images()] == [""]
    await stand.runtime.pull(ImageSpec(image=tag, runtime_handler="arm"))
    assert {image.runtime_handler for image in await runtime.images()} == {""}


def test_with_the_gate_on_the_runtime_is_seen_as_it_is(stand: Stand) -> None:
    gates = parse_gates("RuntimeClassInImageCriApi=true")
    assert handlers.gated(stand.runtime, gates) is stand.runtime
