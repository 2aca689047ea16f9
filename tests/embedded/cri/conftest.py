"""An embedded runtime over a registry in memory, and a client on its socket."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.embedded.cri import server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.kernel import platforms
from lading.wire import calls
from tests.embedded.cri.memory_registry import MemoryRegistry

GUESTS = {
    "kata": None,
    "arm": platforms.parse("linux/arm64"),
    "wcow-2019": platforms.parse("windows(10.0.17763)/amd64"),
}


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def runtime(root: Path, registry: MemoryRegistry) -> Iterator[EmbeddedRuntime]:
    runtime = new_runtime(root, registry)
    yield runtime
    runtime.close()


@pytest.fixture
async def endpoint(runtime: EmbeddedRuntime, tmp_path: Path) -> AsyncIterator[str]:
    async with server.serve(runtime, tmp_path / "cri.sock") as endpoint:
        yield endpoint


@pytest.fixture
async def cri_client(endpoint: str) -> AsyncIterator[CriClient]:
    async with calls.channel_to(endpoint) as channel:
        yield CriClient(channel)


def new_runtime(
    root: Path, registry: MemoryRegistry, *, capacity_bytes: int | None = None
) -> EmbeddedRuntime:
    return EmbeddedRuntime(
        root=root,
        registry=registry,
        clock=SystemClock(),
        platform=platforms.parse("linux/amd64"),
        guests=GUESTS,
        capacity_bytes=capacity_bytes,
    )
