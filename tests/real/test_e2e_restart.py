"""A container runtime that is restarted in the middle of pulls: the agent goes on by itself."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.e2e import door, private_registry, waiting
from tests.e2e.cluster import NodeUnderTest
from tests.real import under_test
from tests.real.bed import api_server, containerd, registry, restart, sandbox

pytestmark = pytest.mark.components("kube", "containerd", "registry")

IMAGE_BYTES = 32 << 20
IMAGES = 4


@pytest.fixture
def server() -> Iterator[api_server.ApiServer]:
    with api_server.api_server() as running:
        yield running


async def is_pulling(node: NodeUnderTest) -> bool:
    progress = msgspec.json.decode(await node.agent.get("/pinned-images"))
    return progress is not None and any(pull["running"] for pull in progress["pulls"])


async def test_a_restarted_runtime_is_given_the_rest_of_the_images(
    server: api_server.ApiServer, registry_3_1: registry.Registry, tmp_path: Path
) -> None:
    with sandbox.sandbox() as place:
        engine = containerd.start(place, "2.3", registries=[registry_3_1])
        async with (
            door.before(registry_3_1.host) as front,
            private_registry.opened(tmp_path) as private,
            under_test.on_runtime(server, engine, front, private, tmp_path) as cluster,
        ):
            (node,) = cluster.nodes
            images = {
                await cluster.push(f"restart/{number}", size_bytes=IMAGE_BYTES)
                for number in range(IMAGES)
            }
            await cluster.make_set("restart", *images)
            await waiting.until(lambda: is_pulling(node), "the agent pulls")
            restart.restart(place, engine.pid)
            entry = await cluster.reported_set(node, "restart")
            assert entry.current_generation == 0, "the restart came too late to tell anything"
            await cluster.until_done("restart")
            assert await node.pinned() >= images
