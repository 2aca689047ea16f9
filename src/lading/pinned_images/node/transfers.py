"""How many bytes the running pulls have brought, and how fast: estimated by the growth of the disk.

No runtime reports how far a single pull is. What is on disk is more than what was transferred; how
much more is measured whenever all pulls have ended, and until then taken from the settings.
"""

from collections import deque

import msgspec

RATE_SECONDS = 20.0
"""The rate is the mean over this long: shorter ones jump while a runtime unpacks a layer."""
CALIBRATION_BYTES_MIN = 16 * 1024 * 1024
"""Below that, logs and databases are a large part of what the disk grows by."""
SAMPLES_MAX = 100


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """Since the first of the pulls began that run now, one after the other."""

    grown_bytes: int = 0
    """What the image file system holds more than then."""
    finished_bytes: int = 0
    """Compressed bytes of the pulls that ended well since then."""
    grown_bytes_per_second: float = 0.0
    disk_bytes_per_byte: float | None = None
    """As measured; None before a pull of some size has ended."""

    def arrived_bytes(self, *, expected_bytes: int, expansion_factor: float) -> int:
        """Of the running pulls, which are to bring `expected_bytes`."""
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
        """The first pull starts; none was running."""
        self._used_at_begin = self._used_bytes
        self._finished_bytes = 0
        self._samples.clear()

    def finish(self, size_bytes: int) -> None:
        self._finished_bytes += size_bytes

    def end(self) -> None:
        """No pull runs any more, so that all that has grown belongs to those that ended."""
        grown = self._grown_bytes()
        if self._finished_bytes >= CALIBRATION_BYTES_MIN and grown >= CALIBRATION_BYTES_MIN:
            self._factor = max(1.0, grown / self._finished_bytes)
        self._samples.clear()

    def see(self, used_bytes: int | None, *, at: float) -> None:
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
