"""Writes of the workload controllers: an object that changed since it was observed stays."""

import random
from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.workloads.actions import Create, Delete, Patch
from lading.embedded.workloads.controllers import SchedulerReconciler
from lading.embedded.workloads.kinds import PODS, Pod
from lading.embedded.workloads.reconciler import WorkloadContext
from lading.kernel.objects import Key
from lading.loop.informer import Informers
from lading.loop.pipeline import PreconditionFailed
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.kube import Kube

KEY = Key("default", "p")


@pytest.fixture
async def api() -> AsyncIterator[Kube]:
    """An API server with one pod."""
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    client = KubeClient(Authorized(core, "t"))
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    await client.create(PODS, {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
    yield client
    await core.close()


@pytest.fixture
def reconciler(api: Kube) -> SchedulerReconciler:
    clock, rng, metrics = SystemClock(), random.Random(1), Metrics(CollectorRegistry())
    recorder = EventRecorder(
        kube=api, clock=clock, rng=rng, metrics=metrics, controller="t", instance="t"
    )
    informers = Informers(kube=api, clock=clock, rng=rng, metrics=metrics)
    return SchedulerReconciler(
        WorkloadContext(
            kube=api, clock=clock, rng=rng, informers=informers, recorder=recorder, metrics=metrics
        )
    )


async def pod(api: Kube) -> Pod:
    return await api.get(PODS, "p", namespace="default")


async def test_a_delete_takes_only_the_object_that_was_observed(
    api: Kube, reconciler: SchedulerReconciler
) -> None:
    with pytest.raises(PreconditionFailed):
        await reconciler.apply(Delete(resource=PODS, key=KEY, uid="of-another", because=""))
    assert not (await pod(api)).metadata.deletion_timestamp


async def test_a_status_is_not_written_to_an_object_that_changed(
    api: Kube, reconciler: SchedulerReconciler
) -> None:
    revision = (await pod(api)).metadata.resource_version
    await api.patch(PODS, "p", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
    for metadata, refusal in (
        ({"resourceVersion": revision}, PreconditionFailed),
        ({"uid": "of-another"}, kube.Invalid),
    ):
        body = {"metadata": metadata, "status": {"phase": "Running"}}
        with pytest.raises(refusal):
            await reconciler.apply(Patch(resource=PODS, key=KEY, body=body, because=""))
    assert (await pod(api)).status.phase == "Pending"


async def test_an_object_that_exists_is_not_replaced(
    api: Kube, reconciler: SchedulerReconciler
) -> None:
    metadata = {"name": "p", "namespace": "default"}
    spec = {"containers": [{"name": "other", "image": "i"}]}
    await reconciler.apply(
        Create(resource=PODS, body={"metadata": metadata, "spec": spec}, because="")
    )
    assert [one.name for one in (await pod(api)).spec.containers] == ["c"]
