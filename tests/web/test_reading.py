"""The client of the dashboard only reads, and a long first list leaves others their turn."""

import asyncio

import pytest

from bench.dashboard_objects import LargeCluster
from lading.web import reading
from lading.web.following import SHOWN_NODES
from lading.web.reading import ReadingKube

NODES = 10 * reading.EVENTS_PER_TURN


async def test_a_first_list_that_is_there_at_once_leaves_others_their_turn() -> None:
    client = ReadingKube(LargeCluster(nodes=NODES, sets=1), lambda _resource, _error: None)
    turns = [0]

    async def count() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    seen = 0
    async for event in client.watch(SHOWN_NODES, timeout_seconds=60):
        seen += 1
        if event.initial_events_end:
            break
    counting.cancel()
    assert seen == NODES + 1
    assert turns[0] >= NODES // reading.EVENTS_PER_TURN


@pytest.mark.parametrize("verb", ["create", "patch", "apply", "delete"])
async def test_it_cannot_write(verb: str) -> None:
    client = ReadingKube(LargeCluster(nodes=1, sets=1), lambda _resource, _error: None)
    with pytest.raises(AssertionError, match="only reads"):
        await getattr(client, verb)(SHOWN_NODES, "node")
