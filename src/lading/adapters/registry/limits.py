"""Every bound of the registry client in one value, so that a test can make them small."""

import msgspec

from lading.kernel.backoff import Backoff

BACK_OFF = Backoff(seconds_min=0.25, seconds_max=5.0, jitter_fraction=1.0)


class ClientLimits(msgspec.Struct, frozen=True, kw_only=True):
    downloads_per_host_max: int = 16  # more gave no more throughput when measured
    connections_per_host_max: int = 20  # short questions need not wait until a download ends
    connections_max: int = 128
    connect_seconds_max: float = 10.0
    answer_seconds_max: float = 60.0
    """From the request, or the last piece of its body, to the end of the answer's headers."""
    stall_seconds_max: float = 60.0
    """Between two pieces of a body."""
    window_seconds: float = 20.0
    window_bytes_min: int = 64 * 1024
    """A body that keeps us waiting for a window must bring this much in it."""
    attempts_max: int = 4
    back_off: Backoff = BACK_OFF
    retry_after_seconds_max: float = 30.0
    """A registry that asks for more is reported instead of waited for."""
    redirects_max: int = 5
    tags_max: int = 100_000
    large_bodies_max: int = 4
    """Read at one time, of all registries; more wait. So memory holds a few large answers only."""
    credentials_tried_max: int = 8


LARGE_BODY_BYTES = 64 * 1024
"""Larger than nearly all manifests: who sends more is slowed down, and the others are not."""
LARGE_BODY_SECONDS_MAX = 120.0
ERROR_BYTES_MAX = 64 * 1024
TOKEN_ANSWER_BYTES_MAX = 1024 * 1024
TAGS_PAGE_BYTES_MAX = 4 * 1024 * 1024
TAGS_PAGE_NAMES = 1000
PAGES_MAX = 10_000  # a registry with more lists for ever, or shortens our pages too much
