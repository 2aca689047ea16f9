"""What the workloads of a cluster do before anything runs, and when all is well."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.clock import SystemClock, VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.api_server import Authorized
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.node import LINUX_AMD64
from lading.embedded.registry import server as registry_server
from lading.embedded.workloads import manager
from lading.embedded.workloads.kinds import DAEMON_SETS, NODES, PODS, Document, Pod
from lading.embedded.workloads.pods.controller import PodNode
from lading.kernel import references
from lading.ports.clock import Clock
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential


async def no_credentials(pod: Pod, image: str) -> tuple[Credential, ...]:
    return ()


@asynccontextmanager
async def opened(folder: Path, clock: Clock) -> AsyncIterator[tuple[KubeClient, PodNode, str]]:
    """An API server, a node that has an image, and the image."""
    core = Core(MemoryStorage(), clock, tokens={"t": ADMIN})
    async with (
        registry_server.serve(folder / "registry") as url,
        registry_client.connect(SystemClock()) as client,
    ):
        image = references.parse(f"{url.removeprefix('http://')}/held:v1")
        await sample_images.push(client, image, sample_images.image([{"f": b"text"}]))
        runtime = EmbeddedRuntime(
            root=folder / "images", registry=client, clock=clock, platform=LINUX_AMD64
        )
        await runtime.pull(ImageSpec(image=str(image)))
    node = PodNode(
        name="n-1",
        runtime=runtime,
        credentials=no_credentials,
        declare=runtime.declare_containers,
        own_images=frozenset(),
        environment={},
        folder=folder / "pods",
    )
    yield KubeClient(Authorized(core, "t")), node, str(image)
    runtime.close()
    await core.close()


def holder_spec(image: str) -> Document:
    return {"containers": [{"name": "held", "image": image, "command": ["/lading-hold/hold"]}]}


async def test_runtimes_know_the_containers_of_pods_before_any_loop_runs(tmp_path: Path) -> None:
    async with opened(tmp_path, SystemClock()) as (kube, node, image):
        for name, where in (("here", "n-1"), ("elsewhere", "n-2")):
            body = {"metadata": {"name": name}, "spec": {"nodeName": where, **holder_spec(image)}}
            await kube.create(PODS, body, namespace="default")
        await manager.open_workloads([node], kube=kube, clock=SystemClock())
        (container,) = await node.runtime.containers()
        assert (container.name, container.image.image) == ("held", image)


async def test_a_steady_cluster_is_not_written_to(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with opened(tmp_path, clock) as (kube, node, image):
        ready = {"type": "Ready", "status": "True"}
        await kube.create(NODES, {"metadata": {"name": "n-1"}})
        await kube.patch(NODES, "n-1", {"status": {"conditions": [ready]}}, subresource="status")
        template = {"metadata": {"labels": {"a": "b"}}, "spec": holder_spec(image)}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        await kube.create(
            DAEMON_SETS, {"metadata": {"name": "d"}, "spec": spec}, namespace="default"
        )
        opened_workloads = await manager.open_workloads([node], kube=kube, clock=clock)
        running = asyncio.create_task(opened_workloads.run())
        await clock.advance(30)
        found = await kube.get(DAEMON_SETS, "d", namespace="default")
        assert found.status.number_ready == 1
        before = await versions(kube)
        await clock.advance(600)
        assert await versions(kube) == before
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def versions(kube: KubeClient) -> dict[str, str]:
    pages = [await kube.page(kind) for kind in (PODS, NODES, DAEMON_SETS)]
    return {one.metadata.uid: one.metadata.resource_version for page in pages for one in page.items}
