"""Whether the runtime still has the images of the holder pods of its node."""

from datetime import timedelta
from typing import Any

import pytest

from lading.kernel.conditions import Truth
from lading.prepull import holder
from lading.prepull.node import plan
from lading.prepull.node.plan import ObservedHolders, WritePresence
from tests.prepull.worlds import HOLD_IMAGE, NOW, A, pod, running

LATER = NOW + timedelta(minutes=2)
NAME = holder.container_name(A)
VOLUME = {"name": NAME, "image": {"reference": A}}


def written(*present: str, condition: Any = None, **more: Any) -> Any:
    found = pod("pod", running(), ready=True, conditions=[condition] if condition else (), **more)
    observed = ObservedHolders(pods=(found,), present=frozenset(present))
    made = plan.plan(observed, NOW, recheck_at=LATER)
    assert made.recheck_at == LATER
    return made.actions


def as_volume() -> dict[str, Any]:
    """The spec of a pod that holds the image as a volume."""
    return {"containers": [{"name": NAME, "image": HOLD_IMAGE}], "volumes": [VOLUME]}


@pytest.mark.parametrize("more", [{}, {"spec": as_volume()}], ids=["container", "image volume"])
def test_an_image_that_is_there(more: dict[str, Any]) -> None:
    (found,) = written(A, **more)
    assert isinstance(found, WritePresence)
    assert (found.status, found.reason) == (Truth.TRUE, "AllPresent")


@pytest.mark.parametrize("more", [{}, {"spec": as_volume()}], ids=["container", "image volume"])
def test_an_image_that_is_gone_is_named_by_its_container(more: dict[str, Any]) -> None:
    (found,) = written(HOLD_IMAGE, **more)
    assert (found.status, found.message) == (Truth.FALSE, f"missing: {NAME}")


def test_an_image_for_another_platform_is_named_by_its_container() -> None:
    found = pod("pod", running(), ready=True)
    observed = ObservedHolders(pods=(found,), present=frozenset({A}), foreign=frozenset({A}))
    (write,) = plan.plan(observed, NOW, recheck_at=LATER).actions
    assert isinstance(write, WritePresence)
    assert (write.reason, write.message) == ("WrongPlatform", f"wrong platform: {NAME}")


def test_what_is_reported_already_is_not_written_again() -> None:
    condition = {"type": "lading.dev/ImagesPresent", "status": "True", "reason": "AllPresent"}
    assert written(A, condition=condition) == ()
    assert len(written(condition=condition)) == 1


def test_a_container_that_is_not_ready_or_not_ours_is_not_compared() -> None:
    observed = ObservedHolders(
        pods=(
            pod("a", {"name": NAME, "image": A, "ready": False}),
            pod("b", {"name": "sidecar", "ready": True}),
        ),
        present=frozenset(),
    )
    assert plan.plan(observed, NOW, recheck_at=LATER).actions == ()


def test_a_pod_that_is_being_deleted_gets_no_condition() -> None:
    leaving = pod(
        "pod", running(), ready=True, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
    )
    observed = ObservedHolders(pods=(leaving,), present=frozenset())
    assert plan.plan(observed, NOW, recheck_at=LATER).actions == ()
