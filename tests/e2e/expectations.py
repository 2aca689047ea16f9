"""What several scenarios wait for: facts that the objects of the cluster tell."""

from collections.abc import Awaitable, Callable

from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.pinned_images.reasons import ConditionType, Reason
from lading.ports import kube
from tests.e2e import waiting
from tests.e2e.cluster import POOL, ClusterUnderTest, NodeUnderTest


async def until_accepted(change: Callable[[], Awaitable[None]]) -> None:
    """Repeated while the API server is away; it may have been taken before."""

    async def is_accepted() -> bool:
        try:
            await change()
        except kube.Transient:
            return False
        return True

    await waiting.until(is_accepted, "the API server accepts a change")


async def revisions(cluster: ClusterUnderTest) -> dict[str, str]:
    objects = [
        *[await cluster.machine_config_node(node) for node in cluster.nodes],
        *(await cluster.kube.page(MACHINE_CONFIG_POOLS)).items,
        *(await cluster.kube.page(PINNED_IMAGE_SETS)).items,
    ]
    return {f"{one.kind} {one.key}": one.metadata.resource_version for one in objects}


async def entries(cluster: ClusterUnderTest) -> set[str]:
    pool = await cluster.kube.get(MACHINE_CONFIG_POOLS, POOL)
    return {reference.name for reference in pool.spec.pinned_image_sets}


async def set_is_ready(cluster: ClusterUnderTest, name: str) -> bool:
    status = (await cluster.kube.get(PINNED_IMAGE_SETS, name)).status
    return conditions.is_true(status.conditions, ConditionType.READY)


async def until_set_is_ready(cluster: ClusterUnderTest, name: str) -> None:
    await waiting.until(lambda: set_is_ready(cluster, name), f"set {name} is Ready")


async def until_pool_is_done(cluster: ClusterUnderTest) -> None:
    async def is_done() -> bool:
        pool = await cluster.kube.get(MACHINE_CONFIG_POOLS, POOL)
        generation, machines = pool.metadata.generation, len(cluster.nodes)
        return [
            (one.observed_generation, one.machine_count, one.updated_machine_count)
            for one in pool.status.pool_synchronizers_status
        ] == [(generation, machines, machines)]

    await waiting.until(is_done, f"pool {POOL} counts every machine as done")


async def is_degraded(
    cluster: ClusterUnderTest, node: NodeUnderTest, reason: Reason, *, naming: str
) -> bool:
    found = await cluster.condition(node, ConditionType.SETS_DEGRADED)
    return (
        found is not None
        and found.status is Truth.TRUE
        and found.reason == reason
        and naming in found.message
    )


async def until_degraded(
    cluster: ClusterUnderTest, node: NodeUnderTest, reason: Reason, *, naming: str
) -> None:
    await waiting.until(
        lambda: is_degraded(cluster, node, reason, naming=naming),
        f"{node.name} is degraded by {reason}, naming {naming}",
    )


async def is_healthy(cluster: ClusterUnderTest, node: NodeUnderTest) -> bool:
    found = await cluster.condition(node, ConditionType.SETS_DEGRADED)
    return found is not None and found.status is Truth.FALSE


async def until_healthy(cluster: ClusterUnderTest, node: NodeUnderTest) -> None:
    await waiting.until(lambda: is_healthy(cluster, node), f"{node.name} is not degraded")
