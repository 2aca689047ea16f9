"""A work queue that coalesces: a key waits once, and is never worked on twice at once.

A key that is added while it is worked on runs again afterwards. Keys can be added for later, and
a failing key comes back after a growing delay. The queue holds no more keys than there are
objects, so it needs no limit of its own. It does not run the work: a controller does.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from lading.kernel.backoff import Backoff
from lading.loop import tasks
from lading.loop.delays import Delays
from lading.ports.clock import Clock

K = TypeVar("K", bound=Hashable)
# Quick enough for a lost race, slow enough for an overloaded server; capped at five minutes so
# that what was repaired by hand is picked up while the person still looks.
RETRY = Backoff(seconds_min=0.2, seconds_max=300)


class WorkQueue(Generic[K]):
    def __init__(self, clock: Clock, rng: random.Random, *, retry: Backoff = RETRY) -> None:
        self._clock = clock
        self._rng = rng
        self._retry = retry
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._waiting: set[K] = set()
        self._active: set[K] = set()
        self._again: set[K] = set()
        self._failures: dict[K, int] = {}
        self._delays: Delays[K] = Delays()
        self._next_delay_changed = asyncio.Event()

    def __len__(self) -> int:
        """How many keys wait for a worker now; delayed ones and active ones do not count."""
        return len(self._waiting)

    def add(self, key: K) -> None:
        if key in self._active:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Adds the key in so many seconds; an earlier appointment of that key stands."""
        if seconds <= 0:
            return self.add(key)
        before = self._delays.next_instant()
        self._delays.set(key, self._clock.monotonic() + seconds)
        if self._delays.next_instant() != before:
            self._next_delay_changed.set()
        return None

    def retry(self, key: K) -> int:
        """Adds the key after its own, growing delay; returns the failures in a row."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        jitter = self._rng.random()
        self.add_after(key, self._retry.delay_seconds(failures=failures, jitter=jitter))
        return failures

    def forget(self, key: K) -> None:
        """The key is well: its next failure is its first."""
        self._failures.pop(key, None)

    @asynccontextmanager
    async def next(self) -> AsyncIterator[K]:
        """Takes the next key for the length of the block; no other worker gets it meanwhile."""
        key = await self._ready.get()
        self._waiting.remove(key)
        self._active.add(key)
        self._delays.discard(key)  # the reconcile that begins says when the next one is due
        try:
            yield key
        finally:
            self._active.remove(key)
            if key in self._again:
                self._again.remove(key)
                self.add(key)

    async def run(self) -> None:
        """Moves delayed keys into the queue when their time has come; until cancelled."""
        while True:
            self._next_delay_changed.clear()
            for key in self._delays.pop_due(self._clock.monotonic()):
                self.add(key)
            await self._next_delay()

    async def _next_delay(self) -> None:
        instant = self._delays.next_instant()
        changed = self._next_delay_changed.wait()
        if instant is None:
            await changed
            return
        try:
            await tasks.within(self._clock, instant - self._clock.monotonic(), changed)
        except TimeoutError:
            return
