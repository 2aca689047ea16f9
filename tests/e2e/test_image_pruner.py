"""The scenarios of image pruning on `lading up`: the Job is a process of this machine."""

import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.embedded import sample_images
from lading.kernel import references
from lading.wiring.registries import open_registries
from tests.cli.up_process import client_of, up
from tests.e2e import waiting
from tests.e2e.image_pruner import (
    ImagePrunerScenarios,
    ImagePrunerUnderTest,
    OneMachineScenarios,
    RegistryUnderTest,
)

pytestmark = pytest.mark.timeout(2 * waiting.TEST_SECONDS_MAX)


class StandaloneImagePruner(ImagePrunerUnderTest):
    """Each `restart` is one of `lading up`, which goes on from its data folder."""

    namespace = "default"
    soon = "@every 2s"

    def __init__(self, data: Path) -> None:
        self.data = data
        self._open = AsyncExitStack()
        self._kube: KubeClient | None = None

    @property
    def kube(self) -> KubeClient:
        assert self._kube is not None, "start it first"
        return self._kube

    async def restart(self, *, kill: bool = False) -> None:
        await self.end(signal.SIGKILL if kill else signal.SIGTERM)
        self._process = await self._open.enter_async_context(up(self.data))
        self._kube = await self._open.enter_async_context(client_of(self.data))
        port = (self.data / "registry-port").read_text()
        self.registries = (
            RegistryUnderTest(
                name="embedded",
                host=f"127.0.0.1:{port}",
                storage={"url": f"file://{self.data / 'registry'}"},
                push=self.push,
                has=self.has,
                root=self.data / "registry",
            ),
        )

    async def end(self, how: signal.Signals) -> None:
        if self._kube is not None:
            self._kube = None
            self._process.send_signal(how)
            await self._process.wait()
        await self._open.aclose()

    async def push(self, name: str) -> str:
        made = sample_images.image([{"cargo.txt": os.urandom(64)}])
        (one,) = self.registries
        async with open_registries(SystemClock()) as registries:
            url = references.parse(f"{one.host}/{name}")
            await sample_images.push(registries.client, url, made)
        return str(made.digest)

    async def has(self, repository: str, digest: str) -> bool:
        (one,) = self.registries
        async with open_registries(SystemClock()) as registries:
            found = await registries.client.head(
                references.parse(f"{one.host}/{repository}@{digest}")
            )
        return found is not None


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def image_pruner(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[StandaloneImagePruner]:
    cluster = StandaloneImagePruner(tmp_path_factory.mktemp("up"))
    await cluster.restart()
    yield cluster
    await cluster.end(signal.SIGTERM)


@pytest.fixture
def tag() -> str:
    return uuid.uuid4().hex[:8]


class TestStandalone(ImagePrunerScenarios, OneMachineScenarios):
    pass
