"""Retries and starts: spread over the fleet, and never all at once."""

from datetime import timedelta

import pytest

from lading.pinned_images.node import rules
from lading.pinned_images.node.types import (
    Desired,
    PinSettings,
    PullErrorKind,
)
from tests.pinned_images.node.builders import (
    NOW,
    failed,
    image_set,
    key,
)


def retried_after(node: str, attempts: int) -> float:
    pull = failed(PullErrorKind.UNAVAILABLE, attempts=attempts)
    at = rules.retry_at(key("a"), pull, Desired(node_name=node, sets=()), NOW)
    assert at is not None
    return (at - NOW).total_seconds()


def test_retries_double_up_to_some_five_minutes() -> None:
    first, second, late = (retried_after("n", attempts) for attempts in (1, 2, 50))
    assert 5 <= first < 6.25
    assert second == pytest.approx(2 * first)
    assert late == pytest.approx(64 * first)


def test_no_two_nodes_come_back_or_begin_at_the_same_moment() -> None:
    nodes = [f"node-{number}" for number in range(100)]
    assert len({retried_after(node, 1) for node in nodes}) == len(nodes)
    settings = PinSettings(start_spread=timedelta(minutes=1))
    starts = {
        rules.starts_at(
            image_set("s", "a"), Desired(node_name=node, sets=(), settings=settings), NOW
        )
        for node in nodes
    }
    assert len(starts) == len(nodes)
    assert max(starts) < NOW + timedelta(minutes=1)
