"""In which way images are held, by what the worker nodes can do."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from lading.api.core import NodeSystemInfo
from lading.prepull import holding
from lading.prepull.holding import Holding, HoldingWay
from tests.prepull.worlds import NOW

HOUR = timedelta(hours=1)


def obstacle(kubelet: str, runtime: str) -> str:
    return holding.obstacle(
        NodeSystemInfo(kubelet_version=kubelet, container_runtime_version=runtime)
    )


@pytest.mark.parametrize(
    ("kubelet", "runtime"),
    [
        ("v1.36.3", "containerd://2.3.1"),
        ("v1.35.0-gke.1000", "containerd://2.1.0"),
        ("v1.35.2+k3s1", "containerd://2.1.4-k3s1"),
        ("v1.36.0", "cri-o://1.36.1"),
        ("v1.35.0", "cri-o://1.31.0"),
        ("v2.0.0", "containerd://3.0.0"),
        ("v1.36.3", "lading://0.1"),
        pytest.param("", "", id="it has not reported anything yet"),
        pytest.param("v1.36.3", "", id="it has not reported its runtime yet"),
    ],
)
def test_a_node_that_can_mount_image_volumes(kubelet: str, runtime: str) -> None:
    assert obstacle(kubelet, runtime) == ""


@pytest.mark.parametrize(
    ("kubelet", "runtime", "why"),
    [
        ("v1.36.3", "containerd://1.7.35", "containerd 1.7.35; image volumes need 2.1"),
        ("v1.36.3", "containerd://1.6.20~ds1", "containerd 1.6.20~ds1; image volumes need 2.1"),
        ("v1.36.3", "containerd://2.0.5", "containerd 2.0.5; image volumes need 2.1"),
        ("v1.36.3", "cri-o://1.30.2", "CRI-O 1.30.2; image volumes need 1.31"),
        ("v1.34.9", "containerd://2.3.1", "kubelet v1.34.9; image volumes need 1.35"),
        ("what", "containerd://2.3.1", "kubelet what; image volumes need 1.35"),
        ("v1.36.3", "containerd://Unknown", "containerd Unknown; image volumes need 2.1"),
        (
            "v1.36.3",
            "docker://29.0",
            "the container runtime docker://29.0; image volumes need containerd 2.1 or CRI-O 1.31",
        ),
    ],
)
def test_a_node_that_cannot_and_why(kubelet: str, runtime: str, why: str) -> None:
    assert obstacle(kubelet, runtime) == why


def decide(
    found: HoldingWay | None = None,
    *,
    hours: float = 0,
    refusal: str = "",
    obstacles: Mapping[str, str] | None = None,
) -> Holding:
    return holding.decide(
        found,
        refusal=refusal,
        obstacles=obstacles or {},
        without_obstacle_since=NOW,
        now=NOW + hours * HOUR,
        settle=HOUR,
    )


@pytest.mark.parametrize("found", [None, *HoldingWay])
def test_one_old_node_decides_for_all_at_once(found: HoldingWay | None) -> None:
    old = {"node-3": "containerd 1.7.35; image volumes need 2.1"}
    made = decide(found, obstacles=old)
    assert made.way is HoldingWay.CONTAINERS
    assert made.message == (
        "Images are held by containers: node-3 has containerd 1.7.35; image volumes need 2.1."
    )


def test_the_first_of_several_old_nodes_is_named() -> None:
    made = decide(obstacles={"b": "x", "a": "kubelet v1.30.0", "c": "y"})
    assert made.message.endswith(": a has kubelet v1.30.0. 2 more nodes are too old.")


@pytest.mark.parametrize("found", [None, HoldingWay.IMAGE_VOLUMES])
def test_without_old_nodes_image_volumes_hold_the_images(found: HoldingWay | None) -> None:
    made = decide(found)
    assert made.way is HoldingWay.IMAGE_VOLUMES
    assert made.message == "Images are held as image volumes."


def test_old_nodes_that_come_and_go_do_not_change_the_daemon_set_each_time() -> None:
    waits = decide(HoldingWay.CONTAINERS, hours=0.9)
    assert (waits.way, waits.recheck_at) == (HoldingWay.CONTAINERS, NOW + HOUR)
    assert "until 2026-01-01T01:00:00Z, because an older node may come back." in waits.message
    assert decide(HoldingWay.CONTAINERS, hours=1).way is HoldingWay.IMAGE_VOLUMES


def test_an_api_server_that_does_not_accept_image_volumes_decides() -> None:
    made = decide(refusal="the API server drops image volumes.")
    assert made.way is HoldingWay.CONTAINERS
    assert made.message == "Images are held by containers: the API server drops image volumes."
