"""What is read beside the caches."""

from lading.api.core import PODS
from lading.prepull import observe
from lading.prepull.types import PrePullSettings
from tests.prepull.clusters import PrePullCluster, opened
from tests.prepull.worlds import NAMESPACE


async def make_pod(cluster: PrePullCluster, *containers: str) -> None:
    spec = {"containers": [{"name": name, "image": f"{name}:1"} for name in containers]}
    await cluster.create(PODS, "own", spec=spec)


async def test_the_image_is_that_of_the_controllers_container() -> None:
    async with opened() as cluster:
        await make_pod(cluster, "sidecar", "controller")
        settings = PrePullSettings(pod_name="own")
        assert await observe.hold_image(cluster.kube, settings, NAMESPACE) == "controller:1"


async def test_the_option_goes_before_the_pod() -> None:
    async with opened() as cluster:
        await make_pod(cluster, "controller")
        settings = PrePullSettings(pod_name="own", hold_image="mine:1")
        assert await observe.hold_image(cluster.kube, settings, NAMESPACE) == "mine:1"


async def test_outside_a_pod_the_image_is_unknown() -> None:
    async with opened() as cluster:
        assert await observe.hold_image(cluster.kube, PrePullSettings(), NAMESPACE) == ""
        gone = PrePullSettings(pod_name="gone")
        assert await observe.hold_image(cluster.kube, gone, NAMESPACE) == ""
