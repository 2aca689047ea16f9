"""What the controller of the ImagePruner does on an API server, with Jobs that are played.

Knows no server: the same scenarios run on the one in memory and on a real kube-apiserver.
"""

from datetime import timedelta
from typing import Any

import pytest

from lading.api.core import CONFIG_MAPS, CRON_JOBS, EVENTS, JOBS, LEASES
from lading.api.imageregistry import IMAGE_PRUNERS, IMAGE_REGISTRY_CONFIGS
from lading.api.openshift_config import CLUSTER_VERSIONS
from lading.api.rbac import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.pruning.operator.types import OBJECT_NAME, REPORT_NAME
from tests.pruning.operator.pruner_clusters import PrunerCluster, running
from tests.pruning.operator.pruner_worlds import NAMESPACE

REGISTRY = {"name": "main", "url": "registry.example.com"}
ROLES_OF_OPENSHIFT = {"system:image-pruner", "lading-image-pruner-openshift"}


async def until_ready(cluster: PrunerCluster) -> None:
    await cluster.until_condition("Available", "True", "Ready")


class InstallScenarios:
    """The first ImagePruner: decided once and recorded."""

    async def test_a_new_cluster_is_pruned_daily_and_then_nothing_is_written(
        self, cluster: PrunerCluster
    ) -> None:
        async with running(cluster):
            await until_ready(cluster)
            await cluster.until_condition("Scheduled", "True", "Scheduled")
            await cluster.until_condition("Failed", "Unknown", "NotRun")
            found = await cluster.pruner()
            assert found is not None
            assert (found.spec["schedule"], found.spec["suspend"]) == ("0 0 * * *", False)
            assert await cluster.decision() == "NewCluster"
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

    async def test_the_api_server_fills_the_defaults_in(self, cluster: PrunerCluster) -> None:
        made = await cluster.create(IMAGE_PRUNERS, "cluster", spec={})
        assert made.spec == {
            "schedule": "0 0 * * *",
            "suspend": False,
            "keepTagRevisions": 3,
            "startingDeadlineSeconds": 3600,
        }

    async def test_another_controller_finds_all_as_it_should_be(
        self, cluster: PrunerCluster
    ) -> None:
        """What it writes once changes no object."""
        async with running(cluster):
            await until_ready(cluster)
            await cluster.until_condition("Scheduled", "True", "Scheduled")
        before = await cluster.revisions()
        cluster.line.written.clear()
        async with running(cluster):

            async def is_seen() -> bool:
                written = [path for _, path in cluster.line.written if "cronjobs" in path]
                return bool(written) and "lading_pruning_scheduled 1.0" in cluster.metrics()

            await cluster.until(is_seen, "the other controller has reconciled")
            await cluster.play_job("proof")
            await cluster.until_condition("Failed", "False", "Succeeded")
            after = await cluster.revisions()
            assert {**after, "ImagePruner": ""} == {**before, "ImagePruner": ""}

    async def test_a_cluster_that_ran_without_a_pruner_gets_a_suspended_one(
        self, cluster: PrunerCluster
    ) -> None:
        """The Lease is as old as the first start; the age limit is none."""
        await cluster.create(LEASES, "lading-controller", spec={})
        async with running(cluster, installation_age_max=timedelta(0)):
            await cluster.until_condition("Scheduled", "False", "Suspended")
            assert await cluster.decision() == "UpgradedCluster"
            assert "lading_pruning_suspended 1.0" in cluster.metrics()
            await cluster.edit(suspend=False)
            await cluster.until_condition("Scheduled", "True", "Scheduled")

    async def test_an_existing_one_is_respected_and_a_deleted_one_stays_deleted(
        self, cluster: PrunerCluster
    ) -> None:
        await cluster.create(IMAGE_PRUNERS, "cluster", spec={"schedule": "@weekly"})
        async with running(cluster, installation_age_max=timedelta(0)):
            await cluster.until_flag("@weekly")
            await cluster.until_decision("ExistingImagePruner")
            await cluster.kube.delete(IMAGE_PRUNERS, "cluster")
            await cluster.until(cluster.is_gone, "the objects went with their owner")
        async with running(cluster):

            async def is_seen() -> bool:
                return "lading_pruning_exists 0.0" in cluster.metrics()

            await cluster.until(is_seen, "the next controller has looked")
            assert await cluster.pruner() is None
            await cluster.create(IMAGE_PRUNERS, "cluster", spec={"schedule": "@monthly"})
            await cluster.until_flag("@monthly")
            assert await cluster.decision() == "ExistingImagePruner", "decided once"

    @pytest.mark.parametrize("writes", range(1, 8))
    async def test_cut_off_after_any_write_the_next_controller_ends_it(
        self, cluster: PrunerCluster, writes: int
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
            await cluster.until_decision("NewCluster")
            page = await cluster.kube.page(JOBS)
            assert page.items == (), "no Job but those of the CronJob"
            found = await cluster.pruner()
            assert found is not None
            assert found.spec["suspend"] is False

    async def test_the_gate_off_acts_as_a_downgrade(self, cluster: PrunerCluster) -> None:
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


class OpenShiftScenarios:
    """Beside OpenShift's operator for the object, and in its place."""

    async def test_the_object_of_its_operator_is_only_reported(
        self, cluster: PrunerCluster
    ) -> None:
        await cluster.install_openshift("4.20.1")
        await cluster.create(IMAGE_PRUNERS, "cluster", spec={"suspend": True})
        async with running(cluster):

            async def is_reported() -> bool:
                return "lading_pruning_suspended 1.0" in cluster.metrics()

            await cluster.until(is_reported, "its state is a metric")
            await cluster.edit(suspend=False)

            async def is_resumed() -> bool:
                return "lading_pruning_suspended 0.0" in cluster.metrics()

            await cluster.until(is_resumed, "an edit is a metric")
            assert cluster.line.written == []

    async def test_without_an_object_nothing_is_created(self, cluster: PrunerCluster) -> None:
        await cluster.install_openshift("4.20.1")
        async with running(cluster):

            async def is_reported() -> bool:
                return "lading_pruning_exists 0.0" in cluster.metrics()

            await cluster.until(is_reported, "that there is none is a metric")
            assert cluster.line.written == []

    @pytest.mark.parametrize(
        ("versions", "decision", "suspend"),
        [
            pytest.param(("4.20.1",), "NewCluster", False, id="one version: daily"),
            pytest.param(
                ("4.20.1", "4.19.9"), "UpgradedCluster", True, id="several versions: suspended"
            ),
        ],
    )
    async def test_taken_over_the_history_of_versions_decides(
        self, cluster: PrunerCluster, versions: tuple[str, ...], decision: str, suspend: bool
    ) -> None:
        await cluster.install_openshift(*versions)
        async with running(cluster, take_over=True):
            await until_ready(cluster)
            found = await cluster.pruner()
            assert found is not None
            assert found.spec["suspend"] is suspend
            await cluster.until_decision(decision)
            assert await cluster.roles() == ROLES_OF_OPENSHIFT

    async def test_a_cluster_that_becomes_openshift_gets_its_roles_at_once(
        self, cluster: PrunerCluster
    ) -> None:
        await cluster.install_kind(CLUSTER_VERSIONS)
        async with running(cluster, take_over=True):
            await until_ready(cluster)
            assert await cluster.roles() == {OBJECT_NAME}
            await cluster.create(CLUSTER_VERSIONS, "version")

            async def is_bound() -> bool:
                return await cluster.roles() >= ROLES_OF_OPENSHIFT

            await cluster.until(is_bound, "the roles of OpenShift are bound")

    async def test_where_the_kind_has_another_owner_a_config_map_gets_the_reports(
        self, cluster: PrunerCluster
    ) -> None:
        """And a bad spec, which its schema lets pass, leaves the last good CronJob."""
        await cluster.install_openshift("4.20.1")
        await cluster.give_the_kind_another_owner()
        async with running(cluster, take_over=True):
            await until_ready(cluster)
            await cluster.until_flag("--report-to=configmap")
            await cluster.kube.delete(CONFIG_MAPS, REPORT_NAME, namespace=NAMESPACE)
            await cluster.until(cluster.has_report_map, "a Job has where to report again")
            made = await cluster.cron_job()
            await cluster.edit(keepTagRevisions=-1, schedule="@hourly")
            refused = await cluster.until_condition("Available", "False", "Error")
            assert "spec.keepTagRevisions: -1" in refused.message
            assert "The last good CronJob stays" in refused.message
            found = await cluster.cron_job()
            assert found is not None
            assert made is not None
            assert found.spec == made.spec
            await cluster.edit(keepTagRevisions=5)
            await until_ready(cluster)
            await cluster.until_flag("--keep-tag-revisions=5")


class ManagementStateScenarios:
    async def test_the_flag_follows_the_management_state(self, cluster: PrunerCluster) -> None:
        """The pruner is managed in every state."""
        await cluster.install_config("Managed")
        async with running(cluster):
            await cluster.until_flag("--prune-registry=true")
            for state, flag in (
                ("Removed", "false"),
                ("Managed", "true"),
                ("Unmanaged", "false"),
                ("Managed", "true"),
                ("Force", "false"),
                ("Managed", "true"),
                (None, "false"),
            ):
                change = {"spec": {"managementState": state}}
                await cluster.kube.patch(IMAGE_REGISTRY_CONFIGS, "cluster", change)
                await cluster.until_flag(f"--prune-registry={flag}")
            await until_ready(cluster)

    async def test_without_a_config_the_flag_follows_the_registries(
        self, cluster: PrunerCluster
    ) -> None:
        await cluster.install_config("Removed")
        await cluster.create(IMAGE_PRUNERS, "cluster", spec={"registries": [REGISTRY]})
        async with running(cluster):
            await cluster.until_flag("--prune-registry=false")
            await cluster.kube.delete(IMAGE_REGISTRY_CONFIGS, "cluster")
            await cluster.until_flag("--prune-registry=true")
            await cluster.edit(registries=None)
            await cluster.until_flag("--prune-registry=false")


class JobScenarios:
    async def test_jobs_become_conditions_events_and_metrics(self, cluster: PrunerCluster) -> None:
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

    async def test_a_pod_that_is_seen_after_its_job_still_names_the_cause(
        self, cluster: PrunerCluster
    ) -> None:
        """The caches of Jobs and of pods do not wait for each other."""
        async with running(cluster):
            await until_ready(cluster)
            await cluster.play_job("starved", failed="it broke")
            await cluster.until_condition("Failed", "True", "JobFailed")
            await cluster.play_out_of_memory("starved")
            found = await cluster.until_condition("Failed", "True", "OutOfMemory")
            assert "spec.resources" in found.message


class DriftScenarios:
    async def test_drift_is_repaired(self, cluster: PrunerCluster) -> None:
        """One change after the other: each wakes the controller by itself."""
        async with running(cluster):
            await until_ready(cluster)
            made = await cluster.cron_job()
            assert made is not None
            orphan: dict[str, Any] = {"metadata": {"ownerReferences": None}}
            await cluster.kube.patch(SERVICE_ACCOUNTS, OBJECT_NAME, orphan, namespace=NAMESPACE)

            async def is_owned() -> bool:
                account = (await cluster.owned())["ServiceAccount"]
                return account is not None and bool(account.metadata.owner_references)

            await cluster.until(is_owned, "the account has its owner")
            await cluster.kube.delete(CLUSTER_ROLE_BINDINGS, OBJECT_NAME)

            async def is_bound() -> bool:
                return (await cluster.owned())["ClusterRoleBinding"] is not None

            await cluster.until(is_bound, "the account has its rights")
            allow: dict[str, Any] = {"spec": {"concurrencyPolicy": "Allow"}}
            await cluster.kube.patch(CRON_JOBS, OBJECT_NAME, allow, namespace=NAMESPACE)

            async def is_forbidden() -> bool:
                found = await cluster.cron_job()
                return found is not None and found.spec["concurrencyPolicy"] == "Forbid"

            await cluster.until(is_forbidden, "no two Jobs run at a time")
            found = await cluster.cron_job()
            assert found is not None
            assert found.metadata.uid == made.metadata.uid, "a new CronJob might start a second Job"

    async def test_what_the_api_server_refuses_is_reported_and_the_last_good_stays(
        self, cluster: PrunerCluster
    ) -> None:
        async with running(cluster):
            await until_ready(cluster)
            await cluster.edit(tolerations=[{"operator": "Nonsense"}])
            refused = await cluster.until_condition("Available", "False", "Error")
            assert "The API server refuses CronJob lading-image-pruner" in refused.message
            assert "The last good CronJob stays" in refused.message
            await cluster.edit(tolerations=None)
            await until_ready(cluster)


class ControllerScenarios(
    InstallScenarios, OpenShiftScenarios, ManagementStateScenarios, JobScenarios, DriftScenarios
):
    """All of them."""
