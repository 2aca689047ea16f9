"""The limits by which the kubelet removes images and evicts pods, as far as they concern us."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

KUBELET_PORT = 10250


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletLimits:
    """The defaults are the kubelet's own."""

    image_gc_high_threshold_percent: int = 85
    image_gc_low_threshold_percent: int = 80
    image_minimum_gc_age: timedelta = timedelta(minutes=2)
    image_maximum_gc_age: timedelta | None = None
    eviction_hard: Mapping[str, str] = field(
        default_factory=lambda: {"imagefs.available": "15%", "nodefs.available": "10%"}
    )


class Kubelet(Protocol):
    async def limits(self) -> KubeletLimits:
        """What the kubelet runs with now; its defaults when it cannot be asked."""
