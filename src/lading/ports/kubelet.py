"""The limits by which the kubelet removes images and evicts pods, as far as they concern us."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

import msgspec

KUBELET_PORT = 10250


class KubeletLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are the kubelet's own."""

    image_gc_high_threshold_percent: int = 85
    image_gc_low_threshold_percent: int = 80
    image_minimum_gc_age: timedelta = timedelta(minutes=2)
    image_maximum_gc_age: timedelta | None = None
    eviction_hard: Mapping[str, str] = msgspec.field(
        default_factory=lambda: {"imagefs.available": "15%", "nodefs.available": "10%"}
    )


class Kubelet(Protocol):
    async def limits(self) -> KubeletLimits:
        """What the kubelet runs with now; its defaults when it cannot be asked."""
