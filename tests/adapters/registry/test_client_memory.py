"""What many large answers cost in memory when they come at once."""

import asyncio
import contextlib
import gc
import tracemalloc

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import retries
from lading.adapters.registry.client import RegistryClient
from lading.kernel import manifests
from lading.ports import registry
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import Answering, Received, app, head, served

PARALLEL = 16
REGISTRIES = 4
BODY_BYTES = manifests.MANIFEST_BYTES_MAX
PIECE = b" " * 65536
JSON = f"Content-Type: {manifests.OCI_INDEX}"


def all_but_the_last_byte(arrived: asyncio.Semaphore, everywhere: asyncio.Event) -> Answering:
    async def answering(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", JSON, f"Content-Length: {BODY_BYTES}"))
        for _ in range(BODY_BYTES // len(PIECE) - 1):
            writer.write(PIECE)
            await writer.drain()
        writer.write(PIECE[:-1])
        await writer.drain()
        arrived.release()
        await everywhere.wait()
        writer.write(PIECE[-1:])

    return answering


async def test_large_manifests_of_many_registries_are_read_a_few_at_a_time() -> None:
    arrived, everywhere = asyncio.Semaphore(0), asyncio.Event()
    answering = all_but_the_last_byte(arrived, everywhere)
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(registry_client.connect(SystemClock()))
        servers = [await stack.enter_async_context(served(answering)) for _ in range(REGISTRIES)]
        gc.collect()
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        asked = [
            asyncio.create_task(refused(client, servers[number % REGISTRIES].host))
            for number in range(PARALLEL)
        ]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(3.0):
                for _ in range(PARALLEL):
                    await arrived.acquire()
        everywhere.set()
        await asyncio.gather(*asked)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    assert peak_bytes < PARALLEL * BODY_BYTES * 3 / 4


async def refused(client: RegistryClient, host: str) -> None:
    """Keeps no error: its trace would hold the answer."""
    with pytest.raises(registry.MalformedAnswer):
        await client.manifest(app(host))


async def test_large_answers_that_end_together_are_handed_over_one_by_one() -> None:
    """Each is verified and parsed at once: several in one turn would hold the event loop."""
    arrived, everywhere = asyncio.Semaphore(0), asyncio.Event()
    parallel = retries.ClientLimits().large_bodies_max
    turn, turns = 0, []

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def asking(client: RegistryClient, host: str) -> None:
        await refused(client, host)
        turns.append(turn)

    async with (
        served(all_but_the_last_byte(arrived, everywhere)) as server,
        registry_client.connect(SystemClock()) as client,
    ):
        asked = [asyncio.create_task(asking(client, server.host)) for _ in range(parallel)]
        for _ in range(parallel):
            await arrived.acquire()
        counting = asyncio.create_task(count())
        everywhere.set()
        await asyncio.gather(*asked)
        counting.cancel()
    assert len(set(turns)) == parallel


async def test_small_answers_do_not_wait_for_large_ones() -> None:
    arrived, everywhere = asyncio.Semaphore(0), asyncio.Event()
    small = hostile.always(hostile.whole(b'{"schemaVersion":2,"manifests":[]}', JSON))
    async with (
        served(all_but_the_last_byte(arrived, everywhere)) as slow,
        served(small) as quick,
        registry_client.connect(SystemClock()) as client,
    ):
        asked = [asyncio.create_task(client.manifest(app(slow.host))) for _ in range(PARALLEL)]
        for _ in range(retries.ClientLimits().large_bodies_max):
            await arrived.acquire()
        assert await client.manifest(app(quick.host))
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def test_a_large_answer_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retries, "LARGE_BODY_SECONDS_MAX", 0.2)
    never = all_but_the_last_byte(asyncio.Semaphore(0), asyncio.Event())
    async with (
        served(never) as server,
        registry_client.connect(SystemClock(), limits=hostile.SMALL) as client,
    ):
        with pytest.raises(registry.NoProgress, match=r"not complete after 0\.2 s"):
            await client.manifest(app(server.host))
