"""How many bytes the registry stores, and its limits.

Every write is counted, and a file counts as one block at least. Another program may remove
content, so the store is measured again before an upload is refused.
"""

import os
import threading
import time
from pathlib import Path

import msgspec

from lading.embedded.registry.faults import Code, Fault
from lading.kernel import quantities

GIB = 1024**3
FILE_BYTES_MIN = 4096  # the block of most file systems
MEASURE_SECONDS_MIN = 10.0  # a full registry must not measure all the time


class StoreLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The largest layers that people push, machine images and models, are of this order."""

    blob_bytes_max: int = 20 * GIB
    store_bytes_max: int = 100 * GIB


DEFAULT_LIMITS = StoreLimits()


class OverLimit(Fault):
    """An upload that exceeds a limit."""


class StoreUsage:
    def __init__(self, root: Path, limits: StoreLimits) -> None:
        self._root = root
        self._limits = limits
        self._used_bytes = 0
        self._measured_at = float("-inf")
        self._lock = threading.Lock()

    def measure(self) -> None:
        with self._lock:
            self._measure()

    def check_blob(self, size_bytes: int) -> None:
        if size_bytes > self._limits.blob_bytes_max:
            limit = quantities.format_bytes(self._limits.blob_bytes_max)
            raise OverLimit(Code.SIZE_INVALID, f"a blob may have {limit}", status=413)

    def check_room(self, size_bytes: int) -> None:
        """Raises if so many more bytes do not fit."""
        with self._lock:
            self._check_room(size_bytes)

    def take(self, size_bytes: int) -> None:
        """Counts bytes before they are written, or raises."""
        with self._lock:
            self._check_room(size_bytes)
            self._used_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        with self._lock:
            self._used_bytes = max(0, self._used_bytes - size_bytes)

    def _check_room(self, size_bytes: int) -> None:
        if self._fits(size_bytes):
            return
        if time.monotonic() - self._measured_at > MEASURE_SECONDS_MIN:
            self._measure()
        if not self._fits(size_bytes):
            limit = quantities.format_bytes(self._limits.store_bytes_max)
            message = f"the registry is full: it may store {limit}; prune images or raise its quota"
            raise OverLimit(Code.DENIED, message, status=507)

    def _fits(self, size_bytes: int) -> bool:
        return self._used_bytes + size_bytes <= self._limits.store_bytes_max

    def _measure(self) -> None:
        self._used_bytes = sum(
            max(_size_bytes(os.path.join(folder, name)), FILE_BYTES_MIN)
            for folder, _, names in os.walk(self._root)
            for name in names
        )
        self._measured_at = time.monotonic()


def _size_bytes(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0  # a temporary file, gone meanwhile
