"""The view values by collection and key, and the pages that follow them.

A value is encoded once, for all pages. A page gets everything first and then what changed; one
that does not keep up gets everything again.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

PENDING_EVENTS_MAX = 64  # at five a second, a page that has been asleep for 13 s
_encode = msgspec.json.Encoder().encode


class Subscriber:
    """One open page."""

    def __init__(self, first: bytes) -> None:
        self._events = deque((first,))
        self._has_events = asyncio.Event()
        self._has_events.set()
        self.is_behind = False

    def send(self, event: bytes) -> None:
        if len(self._events) >= PENDING_EVENTS_MAX:
            self._events.clear()
            self.is_behind = True
        if not self.is_behind:
            self._events.append(event)
        self._has_events.set()

    async def wait(self) -> None:
        await self._has_events.wait()

    def take(self) -> bytes:
        """All values, as one text."""
        self._has_events.clear()
        found = b"".join(self._events)
        self._events.clear()
        return found


class Hub:
    def __init__(self) -> None:
        self._values: dict[str, dict[str, msgspec.Raw]] = {}
        self._changed: dict[str, dict[str, msgspec.Raw]] = {}
        self._dropped: dict[str, set[str]] = {}
        self._subscribers: set[Subscriber] = set()

    @property
    def pages(self) -> int:
        return len(self._subscribers)

    def put(self, collection: str, key: str, value: Any) -> None:
        """Ignores a value that did not change."""
        encoded = msgspec.Raw(_encode(value))
        values = self._values.setdefault(collection, {})
        if key in values and bytes(values[key]) == bytes(encoded):
            return
        values[key] = encoded
        self._dropped.get(collection, set()).discard(key)
        self._changed.setdefault(collection, {})[key] = encoded

    def drop(self, collection: str, key: str) -> None:
        if self._values.get(collection, {}).pop(key, None) is not None:
            self._changed.get(collection, {}).pop(key, None)
            self._dropped.setdefault(collection, set()).add(key)

    def replace(self, collection: str, values: dict[str, Any]) -> None:
        """Replaces a small collection."""
        for key in [key for key in self._values.get(collection, {}) if key not in values]:
            self.drop(collection, key)
        for key, value in values.items():
            self.put(collection, key, value)

    def publish(self) -> None:
        """Sends the changes since the last event to every page."""
        if not self._changed and not self._dropped:
            return
        event = _event("delta", {"put": self._changed, "drop": self._dropped})
        self._changed, self._dropped = {}, {}
        for one in self._subscribers:
            one.send(event)

    def snapshot(self) -> bytes:
        return _event("snapshot", {"put": self._values})

    @contextmanager
    def subscribed(self) -> Iterator[Subscriber]:
        one = Subscriber(self.snapshot())
        self._subscribers.add(one)
        try:
            yield one
        finally:
            self._subscribers.discard(one)

    def text_for(self, one: Subscriber) -> bytes:
        """The next events for the page."""
        if one.is_behind:
            one.take()
            one.is_behind = False
            return self.snapshot()
        return one.take()


def _event(name: str, value: Any) -> bytes:
    """Encodes without line breaks, because a line break ends an event."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), _encode(value))
