"""A set is ready or failed by conditions about its newest generation, and waits otherwise."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.cli.pin import wait
from lading.cli.pin.wait import Readiness


def condition(type_: str, status: str, reason: str = "AsExpected", **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "observedGeneration": 2, **more}


def judged(
    *conditions: dict[str, Any], metadata: Mapping[str, Any] | None = None, **status: Any
) -> Readiness:
    body = {
        "metadata": {"name": "s", "generation": 2, **(metadata or {})},
        "spec": {"pinnedImages": [{"name": "a"}]},
        "status": {"conditions": conditions, **status},
    }
    return wait.readiness({"s": msgspec.convert(body, PinnedImageSet)}, ["s"])


NOT_DEGRADED = condition("Degraded", "False")


def test_a_ready_set_is_ready() -> None:
    assert judged(condition("Ready", "True"), NOT_DEGRADED).ready == ("s",)


def test_a_ready_set_that_is_being_deleted_has_failed() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    found = judged(condition("Ready", "True"), NOT_DEGRADED, metadata=deleted)
    assert (found.ready, found.failed) == ((), ("s: there is no PinnedImageSet of this name",))


def test_ready_of_an_earlier_generation_does_not_count() -> None:
    found = judged(condition("Ready", "True", observedGeneration=1), NOT_DEGRADED)
    assert (found.ready, found.failed) == ((), ())
    assert "has not observed the newest generation yet" in found.pending[0]


def test_a_set_in_progress_is_pending() -> None:
    found = judged(condition("Ready", "False", "InProgress", message="Ready on 1 of 3 nodes"))
    assert found.pending == ("s: Ready on 1 of 3 nodes",)


def test_a_degraded_set_has_failed_with_each_error_and_its_nodes() -> None:
    errors = {"n1": "no room", "n2": "no such image", "n3": "no room"}
    failures = [{"node": node, "message": message} for node, message in errors.items()]
    found = judged(
        condition("Ready", "False", "InProgress"),
        condition("Degraded", "True", message="3 nodes"),
        failures=failures,
    )
    assert found.failed == ("s: n1, n3: no room", "s: n2: no such image")


def test_an_error_of_an_earlier_generation_is_over() -> None:
    found = judged(
        condition("Ready", "False", "InProgress", message="Ready on 1 of 3 nodes"),
        condition("Degraded", "True", observedGeneration=1),
    )
    assert (found.failed, len(found.pending)) == ((), 1)


@pytest.mark.parametrize("reason", ["NoNodes", "FeatureGateOff"])
def test_a_set_that_no_node_takes_has_failed(reason: str) -> None:
    assert judged(condition("Ready", "False", reason, message="why")).failed == ("s: why",)


def test_a_set_that_is_not_there_has_failed() -> None:
    assert wait.readiness({}, ["s"]).failed == ("s: there is no PinnedImageSet of this name",)
