"""What the list of a kubelet proves."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from lading.api.core import ContainerStatus, ListedNode
from lading.kernel import conditions
from lading.prepull import presence
from tests.prepull.worlds import NOW, A

LATER = NOW + timedelta(minutes=1)
DELAY = timedelta(seconds=30)


def listed(*images: tuple[str, ...], reported_at: datetime = LATER) -> presence.ImageList:
    body: Any = {
        "metadata": {"name": "node-a"},
        "status": {
            "conditions": [
                {"type": "Ready", "lastHeartbeatTime": conditions.timestamp(reported_at)}
            ],
            "images": [{"names": list(names)} for names in images],
        },
    }
    return presence.of_node(msgspec.convert(body, ListedNode), delay=DELAY)


def test_a_whole_list_without_the_name_proves_that_the_image_is_gone() -> None:
    assert listed(("x:1",)).lacks((A,), since=NOW)
    assert listed().lacks((A,), since=NOW)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(listed(("x:1", A)), id="it has the name"),
        pytest.param(listed(*((f"x:{n}",) for n in range(50))), id="50 images may be cut off"),
        pytest.param(listed(tuple(f"x:{n}" for n in range(5))), id="five names may be cut off"),
        pytest.param(
            listed(("x:1",), reported_at=NOW + timedelta(seconds=29)), id="it may be older"
        ),
    ],
)
def test_what_proves_nothing(found: presence.ImageList) -> None:
    assert not found.lacks((A,), since=NOW)


def test_an_image_volume_is_listed_under_its_own_name_only() -> None:
    """The status of its container is about Lading's own image."""
    assert presence.names(A, None) == (A,)
    assert presence.names("busybox", None) == (), "a runtime may have it from any registry"


def test_an_image_is_listed_under_any_of_its_names() -> None:
    status = ContainerStatus(name="c", image="mirror.example.com/b:1", image_id="b@sha256:1")
    found = presence.names("busybox", status)
    assert "docker.io/library/busybox:latest" in found
    assert {"mirror.example.com/b:1", "b@sha256:1"} <= set(found)
