"""Each write on an API server in memory: what others wrote stays, and nothing newer is lost."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lading.api.core import CRON_JOBS
from lading.api.imageregistry import IMAGE_PRUNERS, ImagePrunerStatus, StoredImagePruner
from lading.api.rbac import (
    CLUSTER_ROLE_BINDINGS,
    SERVICE_ACCOUNTS,
    ClusterRoleBinding,
    ServiceAccount,
)
from lading.ports import kube
from lading.pruning.operator import apply, effective, objects
from lading.pruning.operator.decision import DECISION_ANNOTATION
from lading.pruning.operator.types import (
    OBJECT_NAME,
    CreateImagePruner,
    CreateObject,
    DeleteBinding,
    UpdateObject,
    WritePrunerStatus,
)
from tests.pruning.operator.pruner_clusters import PrunerCluster, opened
from tests.pruning.operator.pruner_worlds import IMAGE, NAMESPACE


@pytest.fixture
async def cluster() -> AsyncIterator[PrunerCluster]:
    async with opened() as one:
        yield one


@pytest.fixture
async def pruner(cluster: PrunerCluster) -> StoredImagePruner:
    made = await cluster.create(IMAGE_PRUNERS, "cluster", spec={})
    assert isinstance(made, StoredImagePruner)
    return made


async def made_account(cluster: PrunerCluster, pruner: StoredImagePruner) -> ServiceAccount:
    create = CreateObject(body=objects.account(pruner, NAMESPACE), because="test")
    made = await apply.apply(create, cluster.kube)
    assert isinstance(made, ServiceAccount)
    return made


async def annotated(cluster: PrunerCluster) -> ServiceAccount:
    """The account after another writer changed it."""
    metadata: dict[str, Any] = {"labels": {"team": "a"}, "annotations": {"seen": "yes"}}
    change = {"metadata": {**metadata, "ownerReferences": None}}
    return await cluster.kube.patch(SERVICE_ACCOUNTS, OBJECT_NAME, change, namespace=NAMESPACE)


def repair(pruner: StoredImagePruner, found: ServiceAccount) -> UpdateObject:
    return UpdateObject(body=objects.account(pruner, NAMESPACE), found=found, because="test")


def written(pruner: StoredImagePruner, schedule: str) -> WritePrunerStatus:
    return WritePrunerStatus(
        key=pruner.key,
        resource_version=pruner.metadata.resource_version,
        status=ImagePrunerStatus(schedule=schedule),
        because="test",
    )


async def test_a_repair_keeps_the_labels_and_annotations_of_others(
    cluster: PrunerCluster, pruner: StoredImagePruner
) -> None:
    made = await made_account(cluster, pruner)
    await apply.apply(repair(pruner, await annotated(cluster)), cluster.kube)
    found = await cluster.kube.get(SERVICE_ACCOUNTS, OBJECT_NAME, namespace=NAMESPACE)
    assert found.metadata.labels == {**made.metadata.labels, "team": "a"}
    assert found.metadata.annotations == {"seen": "yes"}
    assert [one.uid for one in found.metadata.owner_references] == [pruner.metadata.uid]


async def test_a_cron_job_keeps_the_annotations_of_others(
    cluster: PrunerCluster, pruner: StoredImagePruner
) -> None:
    body = objects.cron_job(
        pruner,
        effective.effective({}),
        namespace=NAMESPACE,
        image=IMAGE,
        prune_registry=True,
        reports_to_map=False,
    )
    made = await apply.apply(CreateObject(body=body, because="test"), cluster.kube)
    assert made is not None
    seen = {"metadata": {"annotations": {"seen": "yes"}}}
    found = await cluster.kube.patch(CRON_JOBS, OBJECT_NAME, seen, namespace=NAMESPACE)
    replace = UpdateObject(body=body, found=found, fields=("spec",), because="test")
    replaced = await apply.apply(replace, cluster.kube)
    assert replaced is not None
    assert replaced.metadata.annotations == {**made.metadata.annotations, "seen": "yes"}


async def test_a_repair_of_what_changed_meanwhile_is_refused(
    cluster: PrunerCluster, pruner: StoredImagePruner
) -> None:
    older = await made_account(cluster, pruner)
    newer = await annotated(cluster)
    with pytest.raises(kube.KubeError):
        await apply.apply(repair(pruner, older), cluster.kube)
    found = await cluster.kube.get(SERVICE_ACCOUNTS, OBJECT_NAME, namespace=NAMESPACE)
    assert found.metadata.resource_version == newer.metadata.resource_version


async def test_a_status_that_another_writer_took_is_written(
    cluster: PrunerCluster, pruner: StoredImagePruner
) -> None:
    body = {
        "apiVersion": IMAGE_PRUNERS.api_version,
        "kind": IMAGE_PRUNERS.kind,
        "metadata": {"name": "cluster"},
        "status": {"schedule": "@weekly"},
    }
    taken = await cluster.kube.apply(
        IMAGE_PRUNERS, body, field_manager="another", subresource="status"
    )
    await apply.apply(written(taken, "@hourly"), cluster.kube)
    found = await cluster.pruner()
    assert found is not None
    assert found.status["schedule"] == "@hourly"


async def test_a_status_of_an_older_object_is_refused(
    cluster: PrunerCluster, pruner: StoredImagePruner
) -> None:
    await cluster.edit(suspend=True)
    with pytest.raises(kube.Conflict):
        await apply.apply(written(pruner, "@hourly"), cluster.kube)
    found = await cluster.pruner()
    assert found is not None
    assert found.status == {}


async def test_a_binding_that_was_made_anew_is_not_deleted(
    cluster: PrunerCluster, pruner: StoredImagePruner
) -> None:
    (body,) = objects.bindings(pruner, NAMESPACE, is_openshift=False)
    older = await apply.apply(CreateObject(body=body, because="test"), cluster.kube)
    assert isinstance(older, ClusterRoleBinding)
    delete = DeleteBinding(name=OBJECT_NAME, uid=older.metadata.uid, because="test")
    await cluster.kube.delete(CLUSTER_ROLE_BINDINGS, OBJECT_NAME)
    await apply.apply(delete, cluster.kube)
    newer = await apply.apply(CreateObject(body=body, because="test"), cluster.kube)
    with pytest.raises(kube.Conflict):
        await apply.apply(delete, cluster.kube)
    assert await cluster.kube.get(CLUSTER_ROLE_BINDINGS, OBJECT_NAME) == newer


@pytest.mark.parametrize(
    ("suspend", "decision"), [(False, "NewCluster"), (True, "UpgradedCluster")]
)
async def test_the_first_image_pruner_has_its_decision_with_it(
    cluster: PrunerCluster, suspend: bool, decision: str
) -> None:
    """Cut off before the decision is recorded, the next controller finds it there."""
    await apply.apply(CreateImagePruner(suspend=suspend, because="test"), cluster.kube)
    found = await cluster.pruner()
    assert found is not None
    assert found.metadata.annotations == {DECISION_ANNOTATION: decision}
    assert found.spec["suspend"] is suspend
