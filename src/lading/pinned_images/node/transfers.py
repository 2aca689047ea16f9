"""Bytes and speed of the running pulls, estimated from the growth of the disk.

No runtime reports the progress of a single pull. An image takes more bytes on disk than were
downloaded. The factor comes from the settings until pulls of some size have ended.
"""

from collections import deque

import msgspec

RATE_SECONDS = 20.0
"""The rate is a mean over this time. It would jump otherwise while a layer is unpacked."""
CALIBRATION_BYTES_MIN = 16 * 1024 * 1024
"""Below this size, logs and databases are a large part of the growth."""
SAMPLES_MAX = 100


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """Since the first pull began after a time without pulls."""

    grown_bytes: int = 0
    """Of the image file system."""
    finished_bytes: int = 0
    """Compressed bytes of the pulls that succeeded."""
    grown_bytes_per_second: float = 0.0
    disk_bytes_per_byte: float | None = None
    """Measured; None before pulls of some size have ended."""

    def arrived_bytes(self, *, expected_bytes: int, expansion_factor: float) -> int:
        """Of the running pulls, which download `expected_bytes` in all."""
        factor = self.disk_bytes_per_byte or expansion_factor
        return min(max(0, int(self.grown_bytes / factor) - self.finished_bytes), expected_bytes)

    def bytes_per_second(self, *, expansion_factor: float) -> float:
        return self.grown_bytes_per_second / (self.disk_bytes_per_byte or expansion_factor)


class TransferMeter:
    def __init__(self) -> None:
        self._used_bytes: int | None = None
        self._used_at_begin: int | None = None
        self._finished_bytes = 0
        self._factor: float | None = None
        self._samples: deque[tuple[float, int]] = deque(maxlen=SAMPLES_MAX)

    @property
    def transfer(self) -> Transfer:
        return Transfer(
            grown_bytes=self._grown_bytes(),
            finished_bytes=self._finished_bytes,
            grown_bytes_per_second=self._rate(),
            disk_bytes_per_byte=self._factor,
        )

    def begin(self) -> None:
        """The next reading of the disk is the base."""
        self._used_bytes = self._used_at_begin = None
        self._finished_bytes = 0
        self._samples.clear()

    def finish(self, size_bytes: int) -> None:
        self._finished_bytes += size_bytes

    def end(self) -> None:
        """No pull runs, so all growth belongs to pulls that ended."""
        grown = self._grown_bytes()
        if self._finished_bytes >= CALIBRATION_BYTES_MIN and grown >= CALIBRATION_BYTES_MIN:
            self._factor = max(1.0, grown / self._finished_bytes)
        self._samples.clear()

    def record(self, used_bytes: int | None, *, at: float) -> None:
        """`at` is in seconds of a monotonic clock."""
        self._used_bytes = used_bytes
        if used_bytes is None:
            self._used_at_begin = None
            self._samples.clear()
            return
        if self._used_at_begin is None:
            self._used_at_begin = used_bytes
        self._samples.append((at, used_bytes))
        while self._samples[0][0] < at - RATE_SECONDS:
            self._samples.popleft()

    def _grown_bytes(self) -> int:
        if self._used_bytes is None or self._used_at_begin is None:
            return 0
        return max(0, self._used_bytes - self._used_at_begin)

    def _rate(self) -> float:
        if len(self._samples) < 2:
            return 0.0
        (first_at, first), (last_at, last) = self._samples[0], self._samples[-1]
        return max(0.0, (last - first) / (last_at - first_at)) if last_at > first_at else 0.0
