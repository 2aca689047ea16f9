"""The stand-in for Lading's own image."""

from pathlib import Path

import lading
from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.registry import server as registry_server
from lading.embedded.workloads import own_image
from lading.kernel import platforms
from lading.ports.cri import ImageSpec

PLATFORMS = frozenset(map(platforms.parse, ("linux/amd64", "linux/arm64")))


async def test_a_runtime_lists_it_by_one_of_its_ids(tmp_path: Path) -> None:
    async with (
        registry_server.serve(tmp_path / "registry") as url,
        registry_client.connect(SystemClock()) as client,
    ):
        host = url.removeprefix("http://")
        await own_image.push(client, host, PLATFORMS)
        await own_image.push(client, host, PLATFORMS)
        ids = set()
        for platform in PLATFORMS:
            runtime = EmbeddedRuntime(
                root=tmp_path / platform.architecture,
                registry=client,
                clock=SystemClock(),
                platform=platform,
            )
            name = str(own_image.reference(host))
            assert name.endswith(f"/lading/lading:{lading.__version__}")
            ids.add(await runtime.pull(ImageSpec(image=name)))
            runtime.close()
    assert ids == own_image.ids(PLATFORMS)
