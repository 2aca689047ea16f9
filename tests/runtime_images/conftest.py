"""A node without a kubelet: embedded registry, embedded runtime, its socket, and a client on it."""

import urllib.parse
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.adapters.registry import client as registry_client
from lading.adapters.state_files import LocalStateFile
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.registry import server as registry_server
from lading.kernel import platforms
from lading.ports.registry import Registry
from lading.runtime_images.state import ImageStateFile
from lading.wire import calls
from tests.runtime_images.publishing import Publisher

GUESTS = {
    "arm": platforms.parse("linux/arm64"),
    "wcow-2019": platforms.parse("windows(10.0.17763)/amd64"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    embedded: EmbeddedRuntime
    runtime: CriClient
    endpoint: str
    registry: Registry
    publisher: Publisher
    state: ImageStateFile
    folder: Path


@pytest.fixture
async def stand(tmp_path: Path) -> AsyncIterator[Stand]:
    clock = SystemClock()
    async with (
        registry_server.serve(tmp_path / "registry") as url,
        registry_client.connect(clock) as registry,
    ):
        embedded = EmbeddedRuntime(
            root=tmp_path / "runtime",
            registry=registry,
            clock=clock,
            platform=platforms.parse("linux/amd64"),
            guests=GUESTS,
        )
        async with (
            cri_server.serve(embedded, tmp_path / "cri.sock") as endpoint,
            calls.channel_to(endpoint) as channel,
        ):
            yield Stand(
                embedded=embedded,
                runtime=CriClient(channel),
                endpoint=endpoint,
                registry=registry,
                publisher=Publisher(registry=registry, host=urllib.parse.urlsplit(url).netloc),
                state=ImageStateFile(LocalStateFile(tmp_path / "state" / "images.json")),
                folder=tmp_path,
            )
        embedded.close()
