"""Writes of the workload controllers: what is no longer what was observed stays as it is."""

from collections.abc import AsyncIterator

import pytest

from lading.kernel.objects import Key
from lading.loop.pipeline import PreconditionFailed
from lading.ports import kube
from lading.standalone.workloads.actions import (
    Create,
    Delete,
    RemoveFinalizer,
    WriteWorkloadStatus,
)
from lading.standalone.workloads.apply import Applier
from lading.standalone.workloads.kinds import PODS
from lading.standalone.workloads.pods.controller import Declarations, PodReconciler
from lading.standalone.workloads.pods.types import FinishDeletion, WritePodStatus
from lading.standalone.workloads.reconciler import WorkloadContext
from tests.standalone.workloads.contexts import NO_NODE, opened_context

KEY = Key("default", "p")
FINALIZER = "example.com/keep"


@pytest.fixture
async def context() -> AsyncIterator[WorkloadContext]:
    async with opened_context() as made:
        body = {
            "metadata": {"name": "p", "finalizers": [FINALIZER]},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        }
        await made.kube.create(PODS, body, namespace="default")
        yield made


def applier(context: WorkloadContext) -> Applier:
    return Applier(kube=context.kube, recorder=context.recorder, caches={})


async def changed(context: WorkloadContext) -> str:
    """The revision of the pod before somebody else changed it."""
    before = await context.kube.get(PODS, "p", namespace="default")
    labels = {"metadata": {"labels": {"another": "writer"}}}
    await context.kube.patch(PODS, "p", labels, namespace="default")
    return before.metadata.resource_version


async def test_a_delete_takes_only_the_object_that_was_observed(context: WorkloadContext) -> None:
    with pytest.raises(PreconditionFailed):
        await applier(context).apply(Delete(resource=PODS, key=KEY, uid="of-another", because=""))
    found = await context.kube.get(PODS, "p", namespace="default")
    assert not found.metadata.deletion_timestamp


async def test_a_status_of_an_object_that_changed_meanwhile_is_not_written(
    context: WorkloadContext,
) -> None:
    revision = await changed(context)
    with pytest.raises(PreconditionFailed):
        await applier(context).apply(
            WriteWorkloadStatus(
                resource=PODS,
                key=KEY,
                resource_version=revision,
                status={"phase": "Running"},
                because="",
            )
        )
    found = await context.kube.get(PODS, "p", namespace="default")
    assert found.status.phase == "Pending"


async def test_a_finalizer_of_an_object_that_changed_meanwhile_stays(
    context: WorkloadContext,
) -> None:
    revision = await changed(context)
    with pytest.raises(PreconditionFailed):
        await applier(context).apply(
            RemoveFinalizer(
                resource=PODS, key=KEY, resource_version=revision, finalizers=(), because=""
            )
        )
    found = await context.kube.get(PODS, "p", namespace="default")
    assert found.metadata.finalizers == (FINALIZER,)


async def test_an_object_that_was_made_before_stands(context: WorkloadContext) -> None:
    metadata = {"name": "p", "namespace": "default"}
    spec = {"containers": [{"name": "other", "image": "i"}]}
    await applier(context).apply(
        Create(resource=PODS, body={"metadata": metadata, "spec": spec}, because="")
    )
    found = await context.kube.get(PODS, "p", namespace="default")
    assert [one.name for one in found.spec.containers] == ["c"]


async def test_a_node_writes_and_ends_only_the_pod_that_it_observed(
    context: WorkloadContext,
) -> None:
    node = PodReconciler(context, NO_NODE, Declarations(lambda containers: None))
    await node.apply(FinishDeletion(key=KEY, uid="of-another", because=""))
    with pytest.raises(kube.Invalid, match="of-another"):
        await node.apply(
            WritePodStatus(key=KEY, uid="of-another", status={"phase": "Failed"}, because="")
        )
    found = await context.kube.get(PODS, "p", namespace="default")
    assert (found.status.phase, found.metadata.deletion_timestamp) == ("Pending", "")
