"""Reading a watch in a test: the next events, with a time limit."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

from lading.kernel.objects import Resource
from lading.ports.kube import EventType, Selection, WatchEvent
from tests.conformance.kube.api import Api, Document

WATCH_SECONDS = 120
EVENT_SECONDS_MAX = 60
Event = WatchEvent[Document]


@contextlib.asynccontextmanager
async def watching(
    api: Api,
    kind: Resource[Document],
    selection: Selection,
    *,
    resource_version: str = "",
    send_initial_events: bool = False,
) -> AsyncIterator[AsyncGenerator[Event, None]]:
    stream = api.client.watch(
        kind,
        selection,
        resource_version=resource_version,
        send_initial_events=send_initial_events,
        timeout_seconds=WATCH_SECONDS,
    )
    async with contextlib.aclosing(stream):
        yield stream


async def following(stream: AsyncGenerator[Event, None], count: int) -> list[Event]:
    """The next events that are no bookmarks."""
    found: list[Event] = []
    async with asyncio.timeout(EVENT_SECONDS_MAX):
        while len(found) < count:
            event = await anext(stream)
            if event.type is not EventType.BOOKMARK:
                found.append(event)
    return found


def types_and_names(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.type.value, event.object["metadata"]["name"]) for event in events]
