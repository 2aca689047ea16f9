"""Pods on a node with a kubelet leave when the kubelet says so."""

from datetime import timedelta
from typing import Any

import pytest

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.http import Request, Response
from tests.conformance.kube.api import PODS, Document

CLOCK = VirtualClock()


async def kubelet(request: Request) -> Response:
    raise AssertionError("nothing asks the kubelet")


def client() -> KubeClient:
    core = Core(MemoryStorage(), CLOCK, tokens={"t": ADMIN}, kubelets={"served": kubelet})
    return KubeClient(Authorized(core, "t"))


async def make(api: KubeClient, *, node: str, phase: str = "Running") -> None:
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
    await api.create(PODS, {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
    await api.patch(
        PODS, "p", {"status": {"phase": phase}}, namespace="default", subresource="status"
    )


async def delete(api: KubeClient, **options: Any) -> None:
    await api.delete(PODS, "p", namespace="default", **options)


async def found(api: KubeClient, resource: Resource[Document] = PODS) -> Document:
    return await api.get(resource, "p", namespace="default")


async def test_a_pod_that_runs_is_marked_until_its_kubelet_is_done() -> None:
    api = client()
    await make(api, node="served")
    await delete(api)
    metadata = (await found(api))["metadata"]
    end = CLOCK.now() + timedelta(seconds=30)
    assert metadata["deletionTimestamp"] == end.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert metadata["deletionGracePeriodSeconds"] == 30
    await delete(api)
    assert (await found(api))["metadata"] == metadata
    await delete(api, grace_seconds=0)
    with pytest.raises(kube.NotFound):
        await found(api)


async def test_a_later_request_can_shorten_the_time_and_not_lengthen_it() -> None:
    api = client()
    await make(api, node="served")
    await delete(api, grace_seconds=20)
    for seconds, left in ((25, 20), (5, 5)):
        await delete(api, grace_seconds=seconds)
        assert (await found(api))["metadata"]["deletionGracePeriodSeconds"] == left


@pytest.mark.parametrize(
    ("node", "phase"),
    [
        pytest.param("other", "Running", id="a node without a kubelet"),
        pytest.param("served", "Succeeded", id="a pod that has ended"),
    ],
)
async def test_any_other_pod_is_gone_at_once(node: str, phase: str) -> None:
    api = client()
    await make(api, node=node, phase=phase)
    await delete(api)
    with pytest.raises(kube.NotFound):
        await found(api)
