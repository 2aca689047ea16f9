"""A work queue that coalesces: a key waits once, and only one worker has it at a time.

A key that is added while a worker has it runs again afterwards. Keys can be added for later, and
a failing key comes back after a growing delay. The queue holds no more keys than there are
objects, so it needs no limit.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from lading.kernel.backoff import Backoff
from lading.loop import tasks
from lading.ports.clock import Clock

K = TypeVar("K", bound=Hashable)
# Quick enough for a lost race, slow enough for an overloaded server. At most five minutes, so
# that a repair by hand shows its effect soon.
RETRY = Backoff(seconds_min=0.2, seconds_max=300)
STALE_ENTRIES_MIN = 64  # below this, stale entries are not worth a rebuild


class Delays(Generic[K]):
    """The earliest appointment of each key: a heap with lazy deletion."""

    def __init__(self) -> None:
        self._order = itertools.count()
        self._heap: list[tuple[float, int, K]] = []
        self._instants: dict[K, float] = {}

    def __len__(self) -> int:
        return len(self._instants)

    def set(self, key: K, instant: float) -> None:
        """Makes the appointment, unless the key has an earlier one."""
        if instant >= self._instants.get(key, float("inf")):
            return
        self._instants[key] = instant
        heapq.heappush(self._heap, (instant, next(self._order), key))
        if len(self._heap) > 2 * len(self._instants) + STALE_ENTRIES_MIN:
            self._heap = [entry for entry in self._heap if self._is_current(entry)]
            heapq.heapify(self._heap)

    def discard(self, key: K) -> None:
        self._instants.pop(key, None)

    def next_instant(self) -> float | None:
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> list[K]:
        """Removes and returns the keys that are due, the earliest first."""
        due = []
        while (instant := self.next_instant()) is not None and instant <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._instants[key]
            due.append(key)
        return due

    def _is_current(self, entry: tuple[float, int, K]) -> bool:
        instant, _, key = entry
        return self._instants.get(key) == instant


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
        """The number of keys that wait for a worker, without delayed and active ones."""
        return len(self._waiting)

    def add(self, key: K) -> None:
        if key in self._active:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Adds the key after a delay. An earlier appointment of the key stays."""
        if seconds <= 0:
            return self.add(key)
        before = self._delays.next_instant()
        self._delays.set(key, self._clock.monotonic() + seconds)
        if self._delays.next_instant() != before:
            self._next_delay_changed.set()
        return None

    def retry(self, key: K) -> int:
        """Adds the key after a growing delay. Returns its number of failures in a row."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        jitter = self._rng.random()
        self.add_after(key, self._retry.delay_seconds(failures=failures, jitter=jitter))
        return failures

    def forget(self, key: K) -> None:
        """Resets the failures of the key."""
        self._failures.pop(key, None)

    @asynccontextmanager
    async def next(self) -> AsyncIterator[K]:
        """Takes the next key. No other worker gets it during the block."""
        key = await self._ready.get()
        self._waiting.remove(key)
        self._active.add(key)
        self._delays.discard(key)  # the reconcile sets the next appointment
        try:
            yield key
        finally:
            self._active.remove(key)
            if key in self._again:
                self._again.remove(key)
                self.add(key)

    async def run(self) -> None:
        """Moves due keys into the queue until cancelled."""
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
