"""How long to wait after the n-th failure in a row: doubling, capped, with jitter.

The caller passes the jitter: a random number, or one that is always the same for a node.
"""

import msgspec

DOUBLINGS_MAX = 32  # keeps the power small; every cap is reached long before


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    seconds_min: float
    seconds_max: float
    jitter_fraction: float = 0.5

    def delay_seconds(self, *, failures: int, jitter: float) -> float:
        """The delay after that many failures in a row, at least one; `jitter` is in [0, 1)."""
        doublings = min(failures - 1, DOUBLINGS_MAX)
        delay: float = min(self.seconds_min * 2**doublings, self.seconds_max)
        return delay * (1 + self.jitter_fraction * jitter)
