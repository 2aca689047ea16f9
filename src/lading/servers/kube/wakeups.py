"""Wakes watchers when the log of a resource has grown; a quiet log costs nothing."""

import asyncio
from collections import defaultdict

from lading.servers.kube.storage.types import Change


class Wakeups:
    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self.closed = False

    def changed(self, change: Change) -> None:
        self._wake(change.record.key.resource)

    def close(self) -> None:
        """Ends every watch."""
        self.closed = True
        for resource in list(self._waiting):
            self._wake(resource)

    def next_change(self, resource: str) -> asyncio.Future[None]:
        """Done at the next change of the resource; must be asked for before reading the log."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[resource].add(future)
        future.add_done_callback(self._waiting[resource].discard)
        return future

    def _wake(self, resource: str) -> None:
        for future in list(self._waiting.get(resource, ())):
            if not future.done():
                future.set_result(None)
