"""The controller on an API server in memory, with Jobs that are played."""

from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
import pytest

from lading.api.batch import CRON_JOBS, JOBS
from lading.api.coordination import LEASES
from lading.api.events import EVENTS
from lading.api.imageregistry import IMAGE_PRUNERS, IMAGE_REGISTRY_CONFIGS
from lading.api.rbac_objects import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.ports import kube
from lading.pruning.operator.types import OBJECT_NAME
from tests.pruning.operator.pruner_clusters import PrunerCluster, opened, running
from tests.pruning.operator.pruner_worlds import NAMESPACE


@pytest.fixture
async def cluster() -> AsyncIterator[PrunerCluster]:
    async with opened() as one:
        yield one


async def until_ready(cluster: PrunerCluster) -> None:
    await cluster.until_condition("Available", "True", "Ready")


async def test_a_new_cluster_is_pruned_daily_and_then_nothing_is_written(
    cluster: PrunerCluster,
) -> None:
    async with running(cluster):
        await until_ready(cluster)
        await cluster.until_condition("Scheduled", "True", "Scheduled")
        assert (await cluster.condition("Failed")) is not None
        found = await cluster.pruner()
        assert found is not None
        assert found.spec["suspend"] is False
        assert await cluster.decision() == "NewCluster"
        await cluster.kube.get(SERVICE_ACCOUNTS, OBJECT_NAME, namespace=NAMESPACE)
        await cluster.kube.get(CLUSTER_ROLE_BINDINGS, OBJECT_NAME)
        metrics = cluster.metrics()
        assert "lading_pruning_scheduled 1.0" in metrics
        assert "lading_pruning_failed 0" not in metrics, "nothing is known before a run"
        count = len(cluster.line.written)
        await cluster.kube.patch(  # wakes the controller, and changes nothing that matters
            IMAGE_PRUNERS, "cluster", {"metadata": {"annotations": {"seen": "yes"}}}
        )
        await cluster.edit(schedule="@hourly")
        await cluster.until_flag("@hourly")
        paths = [path for _, path in cluster.line.written[count:]]
        assert not [one for one in paths if "serviceaccounts" in one or "rolebinding" in one]
        assert len([one for one in paths if "cronjobs" in one]) == 1


async def test_a_cluster_that_ran_without_a_pruner_gets_a_suspended_one(
    cluster: PrunerCluster,
) -> None:
    """The Lease is as old as the first start; the age limit is none."""
    await cluster.create(LEASES, "lading-controller", spec={})
    async with running(cluster, installation_age_max=timedelta(0)):
        await cluster.until_condition("Scheduled", "False", "Suspended")
        assert await cluster.decision() == "UpgradedCluster"
        assert "lading_pruning_suspended 1.0" in cluster.metrics()
        await cluster.edit(suspend=False)
        await cluster.until_condition("Scheduled", "True", "Scheduled")


async def test_a_deleted_pruner_stays_deleted_and_an_own_one_is_respected(
    cluster: PrunerCluster,
) -> None:
    async with running(cluster):
        await until_ready(cluster)
        await cluster.kube.delete(IMAGE_PRUNERS, "cluster")

        async def is_gone() -> bool:
            return await cluster.cron_job() is None

        await cluster.until(is_gone, "the CronJob went with its owner")
    async with running(cluster):
        await cluster.create(IMAGE_PRUNERS, "cluster", spec={"schedule": "@weekly"})
        await until_ready(cluster)
        found = await cluster.cron_job()
        assert found is not None
        assert found.spec["schedule"] == "@weekly"
        assert await cluster.decision() == "NewCluster", "decided once"


async def test_the_flag_follows_the_management_state(cluster: PrunerCluster) -> None:
    await cluster.install_config("Managed")
    async with running(cluster):
        await cluster.until_flag("--prune-registry=true")
        await cluster.kube.patch(
            IMAGE_REGISTRY_CONFIGS, "cluster", {"spec": {"managementState": "Removed"}}
        )
        await cluster.until_flag("--prune-registry=false")


async def test_on_openshift_the_object_of_its_operator_is_only_reported(
    cluster: PrunerCluster,
) -> None:
    await cluster.install_openshift("4.20.1")
    await cluster.create(IMAGE_PRUNERS, "cluster", spec={"suspend": True})
    async with running(cluster):

        async def is_reported() -> bool:
            return "lading_pruning_suspended 1.0" in cluster.metrics()

        await cluster.until(is_reported, "its state is a metric")
        assert cluster.line.written == []


async def test_taken_over_an_upgraded_openshift_gets_a_suspended_one(
    cluster: PrunerCluster,
) -> None:
    await cluster.install_openshift("4.20.1", "4.19.9")
    async with running(cluster, take_over=True):
        await cluster.until_condition("Scheduled", "False", "Suspended")
        assert await cluster.decision() == "UpgradedCluster"
        page = await cluster.kube.page(CLUSTER_ROLE_BINDINGS)
        roles = {one.role_ref.name for one in page.items}
        assert {"system:image-pruner", "lading-image-pruner-openshift"} <= roles


async def test_jobs_become_conditions_events_and_metrics(cluster: PrunerCluster) -> None:
    async with running(cluster):
        await until_ready(cluster)
        await cluster.play_job("first", failed="it broke")
        found = await cluster.until_condition("Failed", "True", "JobFailed")
        assert "first failed: it broke" in found.message
        assert "lading_pruning_failed 1.0" in cluster.metrics()
        await cluster.kube.delete(JOBS, "first", namespace=NAMESPACE)
        await cluster.play_job("second")
        await cluster.until_condition("Failed", "False", "Succeeded")

        async def is_recorded() -> bool:
            page = await cluster.kube.page(EVENTS)
            return {"Ready", "JobFailed", "Succeeded"} <= {one.reason for one in page.items}

        await cluster.until(is_recorded, "events tell it")
        assert "lading_pruning_last_success_timestamp_seconds 0" not in cluster.metrics()


async def test_drift_is_repaired(cluster: PrunerCluster) -> None:
    async with running(cluster):
        await until_ready(cluster)
        made = await cluster.cron_job()
        assert made is not None
        await cluster.kube.patch(
            CRON_JOBS,
            OBJECT_NAME,
            {"spec": {"concurrencyPolicy": "Allow"}},
            namespace=NAMESPACE,
        )
        await cluster.kube.delete(CLUSTER_ROLE_BINDINGS, OBJECT_NAME)

        async def is_repaired() -> bool:
            found = await cluster.cron_job()
            try:
                await cluster.kube.get(CLUSTER_ROLE_BINDINGS, OBJECT_NAME)
            except kube.NotFound:
                return False
            return found is not None and found.spec["concurrencyPolicy"] == "Forbid"

        await cluster.until(is_repaired, "the objects are as before")
        found = await cluster.cron_job()
        assert found is not None
        assert found.metadata.uid == made.metadata.uid, "a new CronJob might start a second Job"


async def test_what_the_api_server_refuses_is_told_and_the_last_good_stays(
    cluster: PrunerCluster,
) -> None:
    async with running(cluster):
        await until_ready(cluster)
        await cluster.edit(tolerations=[{"operator": "Nonsense"}])
        refused = await cluster.until_condition("Available", "False", "Error")
        assert "CronJob lading-image-pruner was refused" in refused.message
        assert "The last good CronJob stays" in refused.message
        await cluster.edit(tolerations=None)
        await until_ready(cluster)


async def test_the_gate_off_acts_as_a_downgrade(cluster: PrunerCluster) -> None:
    async with running(cluster):
        await until_ready(cluster)
    made = await cluster.cron_job()
    async with running(cluster, gates="ImagePruner=false") as manager:
        count = len(cluster.line.written)

        async def is_synced() -> bool:
            return not manager.unsynced()

        await cluster.until(is_synced, "the controllers run")
        await cluster.edit(schedule="@hourly")
        assert await cluster.cron_job() == made
        assert len(cluster.line.written) == count
    async with running(cluster):
        await cluster.until_flag("@hourly")
        found = await cluster.cron_job()
        assert found is not None
        assert made is not None
        assert found.metadata.uid == made.metadata.uid, "it was adopted"


@pytest.mark.parametrize("writes", range(1, 8))
async def test_cut_off_after_any_write_the_next_controller_ends_it(
    cluster: PrunerCluster, writes: int
) -> None:
    cluster.line.writes_left = writes
    async with running(cluster):

        async def is_dead_or_done() -> bool:
            found = await cluster.condition("Available")
            return cluster.line.writes_left == 0 or found is not None

        await cluster.until(is_dead_or_done, "the first controller is cut off")
    cluster.line.writes_left = None
    async with running(cluster):
        await until_ready(cluster)
        await cluster.until_condition("Scheduled", "True", "Scheduled")

        async def is_decided() -> bool:
            return await cluster.decision() == "NewCluster"

        await cluster.until(is_decided, "the decision is recorded")
        page = await cluster.kube.page(JOBS)
        assert page.items == (), "no Job but those of the CronJob"
        found = await cluster.pruner()
        assert found is not None
        assert msgspec.to_builtins(found.spec)["suspend"] is False
