"""kill -9 between any two writes: the next process comes to the same end and loses no history.

A life of the controller is a few passes, each with caches of its own, over machine sets, then over
what is reported on MachineConfigurations and pools. It is dead when a write does not reach the API
server; then another life begins. Every number of writes is tried.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from lading.api.cluster_api import CLUSTER_MACHINE_SETS
from lading.api.core import CONFIG_MAPS, SECRETS
from lading.api.machine import MACHINE_SETS
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    BootImageHistoryDetail,
    SetBy,
)
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images import controller
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import BootImageSettings
from lading.kernel.conditions import Condition, Truth
from lading.kernel.objects import Key
from lading.ports import kube
from lading.ports.kube import Selection
from tests.boot_images import cluster_api
from tests.boot_images.clusters import (
    BootCluster,
    opened,
    reconciler_with_caches_of_now,
    reporters_with_caches_of_now,
)
from tests.boot_images.ignition.stubs import spec_2
from tests.boot_images.streams import GCP_IMAGE, GCP_IMAGE_OLD, VERSION
from tests.boot_images.worlds import MACHINE_NAMESPACE

PASSES_MAX = 10  # the longest list of writes needs four


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    make: Callable[[BootCluster], Awaitable[None]]
    api: Api = Api.MACHINE
    settings: BootImageSettings = BootImageSettings()  # noqa: RUF009 - frozen
    writes: int
    """How many it takes."""


async def proven_by_a_version(cluster: BootCluster) -> None:
    await cluster.usual(stub=spec_2())
    await cluster.create(MACHINE_CONFIG_POOLS, "worker", spec={})


async def proven_by_a_node(cluster: BootCluster) -> None:
    await cluster.make_golden()
    await cluster.make_stub(spec_2())
    await cluster.make_set()
    await cluster.enrol()
    await cluster.make_node("node-a", **{"lading.dev/os-release": VERSION})


async def of_cluster_api(cluster: BootCluster) -> None:
    await cluster_api.usual(cluster)


async def with_a_stub_that_is_none(cluster: BootCluster) -> None:
    await cluster.usual("worker-a", "worker-b", stub=b"not JSON")
    await cluster.create(MACHINE_CONFIG_POOLS, "worker", spec={})


async def with_a_clone_that_nothing_needs(cluster: BootCluster) -> None:
    await cluster_api.usual(cluster)
    await live(cluster, Scenario(make=of_cluster_api, api=Api.CLUSTER, writes=0))
    await cluster_api.point_back(cluster)


async def with_a_set_that_is_gone(cluster: BootCluster) -> None:
    await cluster.usual()
    await live(cluster, Scenario(make=proven_by_a_version, writes=0))
    await cluster.kube.delete(MACHINE_SETS, "worker-a", namespace=MACHINE_NAMESPACE)


SCENARIOS = {
    "a ClusterVersion proves the release": Scenario(make=proven_by_a_version, writes=10),
    "a node proves the release": Scenario(make=proven_by_a_node, writes=10),
    "Cluster API": Scenario(make=of_cluster_api, api=Api.CLUSTER, writes=10),
    "a clone that nothing needs": Scenario(
        make=with_a_clone_that_nothing_needs,
        api=Api.CLUSTER,
        settings=BootImageSettings(unused_templates_retention=timedelta()),
        writes=5,
    ),
    "a stub that cannot be read": Scenario(make=with_a_stub_that_is_none, writes=6),
    "a machine set that is gone": Scenario(make=with_a_set_that_is_gone, writes=2),
}


async def live(cluster: BootCluster, scenario: Scenario) -> None:
    """Passes until a write does not arrive, or there is nothing more to write."""
    for _ in range(PASSES_MAX):
        before = len(cluster.line.writes())
        reconciler = await reconciler_with_caches_of_now(cluster, scenario.api, scenario.settings)
        await reconciler.reconcile(controller.KEY)
        await report(cluster)
        if cluster.line.is_dead or len(cluster.line.writes()) == before:
            return
    raise AssertionError(f"still writing: {cluster.line.writes()[-5:]}")


async def report(cluster: BootCluster) -> None:
    """A write that does not arrive is the end of the life, not of the test."""
    reporters = await reporters_with_caches_of_now(cluster)
    try:
        await reporters.report()
    except* kube.Unavailable:
        assert cluster.line.is_dead


async def end_of(scenario: Scenario, *, killed_after: int | None) -> tuple[dict[Any, Any], int]:
    """Everything that is stored in the end, and how many writes it took."""
    async with opened() as cluster:
        await scenario.make(cluster)
        cluster.line.requests.clear()
        cluster.line.writes_left = killed_after
        await live(cluster, scenario)
        assert cluster.line.is_dead == (killed_after is not None)
        cluster.line.writes_left, cluster.line.is_dead = None, False
        await live(cluster, scenario)
        return await stored(cluster), len(cluster.line.writes())


async def stored(cluster: BootCluster) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for resource in (
        MACHINE_SETS,
        CLUSTER_MACHINE_SETS,
        cluster_api.TEMPLATES,
        SECRETS,
        CONFIG_MAPS,
    ):
        for one in (await cluster.kube.page(resource, Selection())).items:
            content = getattr(one, "data", None) or getattr(one, "spec", None)
            marks = sorted(one.metadata.annotations.items())
            found[resource.plural, resource.group, one.key] = content, marks
    page = await cluster.kube.page(MACHINE_SET_BOOT_IMAGE_HISTORIES, Selection())
    for history in page.items:
        details = [_but_for_the_time(one) for one in history.spec.details]
        found["history", history.metadata.name] = details, history.spec.intended, history.status
    for one in (await cluster.kube.page(MACHINE_CONFIGURATIONS, Selection())).items:
        status = one.status
        shown = status.observed_generation, status.boot_image_updates, reported(status.conditions)
        found["configuration", one.metadata.name] = shown
    for pool in (await cluster.kube.page(MACHINE_CONFIG_POOLS, Selection())).items:
        found["pool", pool.metadata.name] = reported(pool.status.conditions)
    return found


def reported(found: Iterable[Condition]) -> dict[str, tuple[str, str, str]]:
    return {one.type: (one.status, one.reason, one.message) for one in found}


def _but_for_the_time(one: BootImageHistoryDetail) -> tuple[object, ...]:
    return one.index, one.boot_image_ref, one.stub_secret_ref, one.set_by


@pytest.mark.parametrize("name", SCENARIOS)
async def test_killed_after_any_write_the_end_is_the_same(name: str) -> None:
    scenario = SCENARIOS[name]
    end, writes = await end_of(scenario, killed_after=None)
    assert writes == scenario.writes
    for count in range(writes):
        assert (await end_of(scenario, killed_after=count))[0] == end, f"killed after {count}"


async def test_the_end_is_an_updated_set_with_both_images_in_its_history() -> None:
    end, _ = await end_of(SCENARIOS["a ClusterVersion proves the release"], killed_after=None)
    assert end["configuration", "default"][2]["BootImageUpdateProgressing"] == (
        *(Truth.FALSE, "AsExpected"),
        "1 of 1 machine sets updated, 0 skipped",
    )
    assert end["pool", "worker"]["BootImageUpdateDegraded"][0] == Truth.FALSE
    (history,) = (value for key, value in end.items() if key[0] == "history")
    details, intended, status = history
    assert [(one[0], one[1], one[3]) for one in details] == [
        (0, GCP_IMAGE_OLD, SetBy.OTHER),
        (1, GCP_IMAGE, SetBy.LADING),
    ]
    assert intended is None
    assert status.state == "Current"
    key = MACHINE_SETS.plural, MACHINE_SETS.group, Key(MACHINE_NAMESPACE, "worker-a")
    value = end[key][0]["template"]["spec"]["providerSpec"]["value"]
    assert value["disks"][0]["image"] == GCP_IMAGE


async def test_the_end_of_sets_that_fail_names_each_of_them() -> None:
    end, _ = await end_of(SCENARIOS["a stub that cannot be read"], killed_after=None)
    for found in (end["configuration", "default"][2], end["pool", "worker"]):
        status, reason, message = found["BootImageUpdateDegraded"]
        assert (status, reason) == (Truth.TRUE, "StubUnreadable")
        assert "worker-a: " in message
        assert "worker-b: " in message
    assert end["pool", "worker"]["Degraded"][0] == Truth.TRUE
