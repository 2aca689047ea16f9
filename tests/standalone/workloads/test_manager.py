"""What the workloads of a cluster do before anything runs."""

from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import client as registry_client
from lading.kernel import references
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential
from lading.servers.cri.core import EmbeddedRuntime
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.servers.registry import server as registry_server
from lading.standalone import sample_images
from lading.standalone.api_server import Authorized
from lading.standalone.node import LINUX_AMD64
from lading.standalone.workloads import manager
from lading.standalone.workloads.kinds import PODS, Pod
from lading.standalone.workloads.pods.controller import PodNode


class NoCredentials:
    async def of(self, pod: Pod, image: str) -> tuple[Credential, ...]:
        return ()


async def test_runtimes_know_the_containers_of_pods_before_any_loop_runs(tmp_path: Path) -> None:
    clock = SystemClock()
    core = Core(MemoryStorage(), clock, tokens={"t": ADMIN})
    kube = KubeClient(Authorized(core, "t"))
    async with (
        registry_server.serve(tmp_path / "registry") as url,
        registry_client.connect(clock) as client,
    ):
        image = references.parse(f"{url.removeprefix('http://')}/held:v1")
        await sample_images.push(client, image, sample_images.image([{"f": b"text"}]))
        runtime = EmbeddedRuntime(
            root=tmp_path / "images", registry=client, clock=clock, platform=LINUX_AMD64
        )
        await runtime.pull(ImageSpec(image=str(image)))
    for name, node in (("here", "n-1"), ("elsewhere", "n-2")):
        containers = [{"name": name, "image": str(image), "command": ["/lading-hold/hold"]}]
        body = {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": containers}}
        await kube.create(PODS, body, namespace="default")
    node_parts = PodNode(
        name="n-1",
        runtime=runtime,
        credentials=NoCredentials(),
        declare=runtime.declare_containers,
        own_images=frozenset(),
        environment={},
    )
    await manager.open_workloads([node_parts], kube=kube, clock=clock)
    (container,) = await runtime.containers()
    assert (container.name, container.image.image) == ("here", str(image))
    runtime.close()
    await core.close()
