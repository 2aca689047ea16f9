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
    observed,
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
            image_set("s", "a"),
            Desired(node_name=node, sets=(), settings=settings),
            observed(),
            NOW,
        )
        for node in nodes
    }
    assert len(starts) == len(nodes)
    assert max(starts) < NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    "version", ["v1.25.14", "v1.26.9", "v1.27.6", "v1.28.2", "v1.29.0", "v1.36.0-rc.1+abc", ""]
)
def test_kubelets_that_honour_pins_are_not_complained_about(version: str) -> None:
    assert rules.pins_ignored(version) == ""


@pytest.mark.parametrize(
    ("version", "first_good"),
    [
        ("v1.24.17", "1.25.14"),
        ("v1.25.13", "1.25.14"),
        ("v1.26.8", "1.26.9"),
        ("v1.27.5", "1.27.6"),
        ("v1.28.1", "1.28.2"),
        ("1.28.0+k3s1", "1.28.2"),
    ],
)
def test_kubelets_that_ignore_pins_are_named_with_the_first_that_does_not(
    version: str, first_good: str
) -> None:
    message = rules.pins_ignored(version)
    assert f"kubelet {version} ignores pins" in message
    assert f"{first_good} and later" in message
