"""Keys with an appointment: at most one per key, the earliest wins. A plain data structure.

A heap with lazy deletion: an entry with an instant that is no longer the key's is skipped.
"""

import heapq
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
STALE_ENTRIES_MIN = 64  # below this, stale entries are not worth a rebuild


class Delays(Generic[K]):
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
        """Takes out the keys that are due, the earliest first."""
        due = []
        while (instant := self.next_instant()) is not None and instant <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._instants[key]
            due.append(key)
        return due

    def _is_current(self, entry: tuple[float, int, K]) -> bool:
        instant, _, key = entry
        return self._instants.get(key) == instant
