"""The shaped line: late, slow for each connection, and not slower for many."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from bench import shaped_registry
from bench.shaped_registry import Shape

ANSWER_BYTES = 400_000
SHAPE = Shape(latency_seconds=0.2, connection_bytes_per_second=1e6)
SECONDS_MIN = SHAPE.latency_seconds + 0.3
"""The first piece is not held up, so that it is a little less than the answer's 0.4 seconds."""
CONNECTIONS = 6
ATTEMPTS_MAX = 5
SHARED_SECONDS = CONNECTIONS * ANSWER_BYTES / SHAPE.connection_bytes_per_second
"""What all would take if they shared one limit."""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.write(bytes(ANSWER_BYTES))
    await writer.drain()
    writer.close()


@pytest.fixture
async def upstream() -> AsyncIterator[str]:
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def fetch(address: str) -> int:
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET\n")
    received = await reader.read(-1)
    writer.close()
    return len(received)


async def test_an_answer_is_late_and_as_slow_as_the_connection(upstream: str) -> None:
    with shaped_registry.before(upstream, SHAPE) as shaped:
        began = time.monotonic()
        assert await fetch(shaped) == ANSWER_BYTES
        assert time.monotonic() - began >= SECONDS_MIN


async def test_each_connection_has_a_limit_of_its_own(upstream: str) -> None:
    """A busy machine may need several attempts; a shared limit would never be this quick."""
    with shaped_registry.before(upstream, SHAPE) as shaped:
        for _ in range(ATTEMPTS_MAX):
            began = time.monotonic()
            received = await asyncio.gather(*(fetch(shaped) for _ in range(CONNECTIONS)))
            assert received == [ANSWER_BYTES] * CONNECTIONS
            if time.monotonic() - began < SHARED_SECONDS:
                return
    pytest.fail(f"{ATTEMPTS_MAX} times slower than one limit for all would be")
