"""One small world per test: a virtual clock, an API server, and the real client on it."""

import asyncio
import random
from collections.abc import AsyncIterator

import prometheus_client
import pytest

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.loop.informer import Informers
from lading.observability.metrics import Metrics
from tests.loop.faults import Link
from tests.loop.server import ApiServer, serving


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def rng() -> random.Random:
    return random.Random(7)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(prometheus_client.CollectorRegistry())


@pytest.fixture
async def server(clock: VirtualClock) -> AsyncIterator[ApiServer]:
    async with serving(clock) as server:
        yield server


@pytest.fixture
async def link(server: ApiServer, clock: VirtualClock) -> Link:
    return Link(server, clock)


@pytest.fixture
async def kube(server: ApiServer) -> KubeClient:
    """For the test itself: never disturbed."""
    return KubeClient(server)


@pytest.fixture
async def informers(
    link: Link, clock: VirtualClock, rng: random.Random, metrics: Metrics
) -> Informers:
    """What is under test speaks through the link."""
    return Informers(kube=KubeClient(link), clock=clock, rng=rng, metrics=metrics)


@pytest.fixture(autouse=True)
async def no_task_is_left() -> AsyncIterator[None]:
    yield
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"still running: {left}"
