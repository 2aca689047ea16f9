"""The status of a pool on an API server where others report about it too."""

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.pools import controller, plan
from lading.pools.types import ObservedPool, WritePoolStatus
from lading.ports.pools import PoolFacts
from tests.pinned_images.installed_api import api
from tests.pools.build import NOW, POOL, facts

__all__ = ["api"]


async def writing(api: KubeClient, *of_features: PoolFacts) -> WritePoolStatus:
    found = await api.get(MACHINE_CONFIG_POOLS, "infra")
    observed = ObservedPool(pool=found, generation=found.metadata.generation, facts=of_features)
    action = plan.plan(observed, NOW).actions[0]
    assert isinstance(action, WritePoolStatus)
    return action


async def test_what_others_report_about_a_pool_stays_theirs(api: KubeClient) -> None:
    await api.create(MACHINE_CONFIG_POOLS, POOL)
    await reported_by_another(api, "Updated")
    await controller.write_status(await writing(api, facts("ADegraded")), api)
    assert await reported(api) == {"ADegraded", "Degraded", "Updated"}
    await reported_by_another(api)
    assert await reported(api) == {"ADegraded", "Degraded"}


async def test_the_conditions_of_a_feature_that_reports_no_more_are_taken_back(
    api: KubeClient,
) -> None:
    await api.create(MACHINE_CONFIG_POOLS, POOL)
    await reported_by_another(api, "Updated")
    await controller.write_status(await writing(api, facts("ADegraded"), facts("BDegraded")), api)
    await controller.write_status(await writing(api, facts("BDegraded")), api)
    assert await reported(api) == {"BDegraded", "Degraded", "Updated"}
    await controller.write_status(await writing(api), api)
    assert await reported(api) == {"Updated"}


async def reported_by_another(api: KubeClient, *types: str) -> None:
    found = [
        {
            "type": type_,
            "status": "True",
            "reason": "Done",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for type_ in types
    ]
    body = {**POOL, "status": {"conditions": found}}
    del body["spec"]
    await api.apply(
        MACHINE_CONFIG_POOLS, body, field_manager="another", force=True, subresource="status"
    )


async def reported(api: KubeClient) -> set[str]:
    pool = await api.get(MACHINE_CONFIG_POOLS, "infra")
    return {one.type for one in pool.status.conditions}
