"""Whether the runtime still has the images of the holder pods of its node."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from lading.kernel.conditions import Truth
from lading.ports.cri import Image
from lading.prepull import holder
from lading.prepull.node import plan
from lading.prepull.node.plan import ObservedHolders, WritePresence
from tests.prepull.worlds import NOW, A, pod, running

LATER = NOW + timedelta(minutes=2)
DIGEST = f"sha256:{'1' * 64}"
NAME = holder.container_name(A)


def written(url: str = A, *, image: Image | None, condition: Any = None, **status: str) -> Any:
    found = pod(
        "pod", {**running(url), **status}, ready=True, conditions=[condition] if condition else ()
    )
    container = {"name": holder.container_name(url), "image": url}
    spec = {**msgspec.to_builtins(found.spec), "containers": [container]}
    found = msgspec.convert({**msgspec.to_builtins(found), "spec": spec}, type(found))
    observed = ObservedHolders(pods=(found,), images=(image,) if image else ())
    made = plan.plan(observed, NOW, recheck_at=LATER)
    assert made.recheck_at == LATER
    return made.actions


def listed(*tags: str, digests: tuple[str, ...] = (), **more: Any) -> Image:
    return Image(id="sha256:id", size_bytes=1, repo_tags=tags, repo_digests=digests, **more)


@pytest.mark.parametrize(
    ("url", "image", "image_id"),
    [
        pytest.param(A, listed(A), "", id="by tag"),
        pytest.param("busybox", listed("docker.io/library/busybox:latest"), "", id="a short name"),
        pytest.param(
            f"r.example.com/a@{DIGEST}",
            listed(digests=(f"r.example.com/a@{DIGEST}",)),
            "",
            id="by digest",
        ),
        pytest.param(
            f"r.example.com/a:1@{DIGEST}",
            listed(digests=(f"r.example.com/a@{DIGEST}",)),
            "",
            id="by tag and digest",
        ),
        pytest.param("busybox", listed("mirror.example.com/busybox:1"), "sha256:id", id="by ID"),
    ],
)
def test_an_image_that_is_there(url: str, image: Image, image_id: str) -> None:
    (found,) = written(url, image=image, imageID=image_id)
    assert isinstance(found, WritePresence)
    assert (found.status, found.reason) == (Truth.TRUE, "AllPresent")


@pytest.mark.parametrize(
    "image",
    [
        pytest.param(None, id="nothing"),
        pytest.param(listed("registry.example.com/a:2"), id="another tag"),
        pytest.param(listed(A, runtime_handler="kata"), id="only for guests"),
    ],
)
def test_an_image_that_is_gone_is_named_by_its_container(image: Image | None) -> None:
    (found,) = written(image=image)
    assert (found.status, found.message) == (Truth.FALSE, f"missing: {NAME}")


def test_what_is_reported_already_is_not_written_again() -> None:
    condition = {"type": "lading.dev/ImagesPresent", "status": "True", "reason": "AllPresent"}
    assert written(image=listed(A), condition=condition) == ()
    assert len(written(image=None, condition=condition)) == 1


def test_a_container_that_is_not_ready_or_not_ours_is_not_compared() -> None:
    observed = ObservedHolders(
        pods=(
            pod("a", {"name": NAME, "ready": False}),
            pod("b", {"name": "sidecar", "ready": True}),
        ),
        images=(),
    )
    assert plan.plan(observed, NOW, recheck_at=LATER).actions == ()


def test_a_pod_that_is_being_deleted_gets_no_condition() -> None:
    leaving = pod(
        "pod", running(), ready=True, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
    )
    observed = ObservedHolders(pods=(leaving,), images=())
    assert plan.plan(observed, NOW, recheck_at=LATER).actions == ()
