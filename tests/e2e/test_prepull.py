"""The pre-pull scenarios on `lading up`, a process with several nodes."""

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.adapters.kube.client import KubeClient
from lading.embedded import sample_images
from lading.kernel import references
from lading.prepull import holder
from lading.wire import calls
from lading.wiring.registries import open_registries
from tests.cli.up_process import client_of, processes_of, up
from tests.e2e import waiting
from tests.e2e.prepull import (
    SHARE,
    PrePullScenarios,
    PrePullUnderTest,
    names_of,
    pushed,
    until_upgraded,
)

pytestmark = pytest.mark.timeout(waiting.TEST_SECONDS_MAX)
NODE_COUNT = 2


class StandalonePrePull(PrePullUnderTest):
    """Each `start` is one of `lading up`, which goes on from its data folder."""

    namespace = "default"
    node_names = tuple(f"node-{number + 1}" for number in range(NODE_COUNT))

    def __init__(self, data: Path) -> None:
        self.data = data
        self._open = AsyncExitStack()
        self._kube: KubeClient | None = None

    @property
    def kube(self) -> KubeClient:
        assert self._kube is not None, "start it first"
        return self._kube

    @property
    def registry_host(self) -> str:
        return f"127.0.0.1:{(self.data / 'registry-port').read_text()}"

    async def start(self, listed: Mapping[str, str]) -> None:
        await self.end(signal.SIGTERM)
        options = [f"--prepull-image={name}={url}" for name, url in listed.items()]
        self._process = await self._open.enter_async_context(
            up(self.data, "--nodes", str(NODE_COUNT), *options)
        )
        self._kube = await self._open.enter_async_context(client_of(self.data))

    async def end(self, how: signal.Signals) -> None:
        if self._kube is not None:
            self._kube = None
            self._process.send_signal(how)
            await self._process.wait()
        await self._open.aclose()

    async def push(self, name: str, tag: str) -> str:
        made = sample_images.image([{"cargo.txt": os.urandom(64)}])
        url = references.parse(f"{self.registry_host}/{name}:{tag}")
        async with open_registries(SystemClock()) as registries:
            await sample_images.push(registries.client, url, made)
        return str(url)

    async def present(self, node: str) -> set[str]:
        socket = f"unix://{self.data}/nodes/{node}/runtime.sock"
        async with calls.channel_to(socket) as channel:
            images = await CriClient(channel).images()
        return {tag for one in images for tag in one.repo_tags}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def prepull(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StandalonePrePull]:
    cluster = StandalonePrePull(tmp_path_factory.mktemp("up"))
    await cluster.start({})
    yield cluster
    await cluster.end(signal.SIGTERM)


class TestStandalone(PrePullScenarios):
    async def test_kill_in_the_middle_of_a_roll_out(self, prepull: StandalonePrePull) -> None:
        old = await pushed(prepull, "kill-1")
        await prepull.start(old)
        await prepull.until_deployed(*names_of(old))
        new = await pushed(prepull, "kill-2")
        await prepull.start(new)

        async def a_node_pulls() -> bool:
            return any(
                pod.spec.node_name and new[SHARE] in holder.held(pod).values()
                for pod in await prepull.pods()
            )

        await prepull.until(a_node_pulls, "a node has a new pod")
        await prepull.end(signal.SIGKILL)

        async def no_process_is_left() -> bool:
            return not processes_of(prepull.data)

        await waiting.until(no_process_is_left, "no process is left")
        await prepull.start(new)
        await until_upgraded(prepull, old, new)
