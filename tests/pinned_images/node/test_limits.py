"""How much of the image file system must stay free, by the limits of the kubelet."""

import pytest

from lading.pinned_images.node import limits
from lading.pinned_images.node.types import Budget
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits

GIB = 1024**3


def budget(eviction_hard: dict[str, str], *, gc_percent: int = 100) -> Budget:
    kubelet = KubeletLimits(image_gc_high_threshold_percent=gc_percent, eviction_hard=eviction_hard)
    return limits.budget(Space(capacity_bytes=100 * GIB, available_bytes=40 * GIB), kubelet)


def test_what_is_free_is_not_all_usable() -> None:
    found = budget({}, gc_percent=85)
    assert (found.capacity_bytes, found.free_bytes) == (100 * GIB, 40 * GIB)
    assert (found.reserve_bytes, found.usable_bytes) == (15 * GIB, 25 * GIB)
    assert "starts at 85% disk usage" in found.reserve_reason


@pytest.mark.parametrize(
    ("text", "reserve_bytes"),
    [("20%", 20 * GIB), ("30Gi", 30 * GIB), ("15.5%", 31 * GIB // 2)],
)
@pytest.mark.parametrize("signal", ["imagefs.available", "nodefs.available"])
def test_an_eviction_limit_keeps_its_share(signal: str, text: str, reserve_bytes: int) -> None:
    assert budget({signal: text}).reserve_bytes == reserve_bytes


def test_the_strictest_limit_counts_and_is_named() -> None:
    found = budget({"imagefs.available": "20%", "nodefs.available": "10%"}, gc_percent=85)
    assert found.reserve_bytes == 20 * GIB
    assert found.reserve_reason == "the kubelet's eviction limit imagefs.available<20%"


@pytest.mark.parametrize("text", ["0%", "0.5%", "1Ki", "a lot", "-50%"])
def test_a_kubelet_cannot_lower_the_default_reserve(text: str) -> None:
    found = budget({"imagefs.available": text, "nodefs.available": text}, gc_percent=100)
    assert found.reserve_bytes == 15 * GIB
    assert found.reserve_reason == "the agent's reserve of 15%"


def test_a_disk_fuller_than_its_limit_has_nothing_to_give() -> None:
    assert budget({}, gc_percent=50).usable_bytes == 0
