"""How much of the image file system must stay free, from the limits that the kubelet keeps. Pure.

Above the image garbage-collection threshold the kubelet removes images, below the eviction limit
it evicts pods: preloading must cause neither. The reserve of a kubelet with default settings is
kept in any case: a kubelet can only raise it.
"""

from lading.kernel import quantities
from lading.kernel.errors import Malformed
from lading.pinned_images.node.types import Budget
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits

RESERVE_PERCENT_MIN = 100 - KubeletLimits().image_gc_high_threshold_percent
_SIGNALS = ("imagefs.available", "nodefs.available")


def budget(space: Space, limits: KubeletLimits) -> Budget:
    percent = 100 - limits.image_gc_high_threshold_percent
    collection = (
        "the kubelet's image garbage collection, which starts at "
        f"{limits.image_gc_high_threshold_percent}% disk usage"
    )
    reserves = {collection: space.capacity_bytes * percent // 100}
    for signal in _SIGNALS:
        if signal in limits.eviction_hard:
            text = limits.eviction_hard[signal]
            reserve = _threshold_bytes(text, space.capacity_bytes)
            reserves[f"the kubelet's eviction limit {signal}<{text}"] = reserve
    least = space.capacity_bytes * RESERVE_PERCENT_MIN // 100
    reserves[f"the agent's reserve of {RESERVE_PERCENT_MIN}%"] = least
    reason = max(reserves, key=lambda why: reserves[why])
    return Budget(
        capacity_bytes=space.capacity_bytes,
        free_bytes=space.available_bytes,
        reserve_bytes=reserves[reason],
        reserve_reason=reason,
    )


def _threshold_bytes(text: str, capacity_bytes: int) -> int:
    try:
        if text.endswith("%"):
            return int(capacity_bytes * quantities.parse(text[:-1]) / 100)
        return quantities.parse_bytes(text)
    except Malformed:
        return 0  # the kubelet does not start with such a limit, so it cannot be in force
