"""Agents of a fleet, as the API server sees them: they watch pools and sets, and report twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from bench import fleet_objects
from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.transport import NetworkTransport
from lading.api.core import NODES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.loop import tasks
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import EVERYTHING, Selection

T = TypeVar("T")
AT_ONCE = 16
FIELD_MANAGER = "lading-agent"
WATCH_SECONDS = 3600
WATCHES_START_SECONDS = 1.0


async def each(items: Sequence[T], work: Callable[[T], Awaitable[object]]) -> None:
    """Some at a time, as many agents as answer at once."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(worker())


async def report(
    kube: KubeClient, names: Sequence[str], sets: list[PinnedImageSet], *, is_done: bool
) -> None:
    async def write(name: str) -> None:
        await kube.apply(
            MACHINE_CONFIG_NODES,
            fleet_objects.report(name, sets, is_done=is_done),
            field_manager=FIELD_MANAGER,
            force=True,
            subresource="status",
        )

    await each(names, write)


class Received:
    """The bytes that one agent receives, counted on their way from the network."""

    def __init__(self, exchange: HttpTransport) -> None:
        self._exchange = exchange
        self.total_bytes = 0

    async def __call__(self, request: Request) -> Response:
        response = await self._exchange(request)
        if isinstance(response.body, bytes):
            self.total_bytes += len(response.body)
            return response
        return replace(response, body=self._counted(response.body))

    async def _counted(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in body:
            self.total_bytes += len(chunk)
            yield chunk


@contextlib.asynccontextmanager
async def watching(connection: Connection, name: str) -> AsyncIterator[Received]:
    """The four watches of an agent, from now on; what exists already does not count."""
    async with NetworkTransport(connection, SystemClock()) as network:
        counted = Received(network)
        async with _following(counted, name):
            counted.total_bytes = 0
            yield counted


@contextlib.asynccontextmanager
async def _following(counted: Received, name: str) -> AsyncIterator[None]:
    kube = KubeClient(counted)
    own = Selection(field_selector=f"metadata.name={name}")
    watched: tuple[tuple[Resource[object], Selection], ...] = (
        (PINNED_IMAGE_SETS, EVERYTHING),
        (MACHINE_CONFIG_POOLS, EVERYTHING),
        (MACHINE_CONFIG_NODES, own),
        (NODES, own),
    )

    async def follow(resource: Resource[object], selection: Selection) -> None:
        revision = (await kube.page(resource, selection)).resource_version
        async for _event in kube.watch(
            resource, selection, resource_version=revision, timeout_seconds=WATCH_SECONDS
        ):
            pass

    async with contextlib.AsyncExitStack() as stack:
        for resource, selection in watched:
            await stack.enter_async_context(tasks.started(follow(resource, selection)))
        await asyncio.sleep(WATCHES_START_SECONDS)
        yield
