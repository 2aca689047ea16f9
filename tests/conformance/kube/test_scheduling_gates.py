"""Scheduling gates hold a pod back; a client may remove them, and nothing else."""

from typing import Any

import pytest

from lading.ports import kube
from lading.ports.kube import PatchType
from tests.conformance.kube.api import PODS, Api, Document

FIRST, SECOND = "gates.example/first", "gates.example/second"


def gates(*names: str) -> list[Document]:
    return [{"name": name} for name in names]


def pod(*names: str, **spec: Any) -> Document:
    containers = [{"name": "c", "image": "i"}]
    spec = {"containers": containers, "schedulingGates": gates(*names), **spec}
    return {"metadata": {"name": "p"}, "spec": spec}


async def patched(api: Api, namespace: str, *operations: Document) -> Document:
    return await api.client.patch(
        PODS, "p", list(operations), namespace=namespace, patch_type=PatchType.JSON
    )


def remove(path: str) -> Document:
    return {"op": "remove", "path": path}


async def test_a_gated_pod_says_so(api: Api, namespace: str) -> None:
    made = await api.client.create(PODS, pod(FIRST), namespace=namespace)
    (condition,) = made["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": made["metadata"]["creationTimestamp"],
    }


async def test_gates_are_removed_one_by_one(api: Api, namespace: str) -> None:
    await api.client.create(PODS, pod(FIRST, SECOND), namespace=namespace)
    test = {"op": "test", "path": "/spec/schedulingGates/0/name", "value": FIRST}
    left = await patched(api, namespace, test, remove("/spec/schedulingGates/0"))
    assert left["spec"]["schedulingGates"] == gates(SECOND)
    free = await patched(api, namespace, remove("/spec/schedulingGates"))
    assert "schedulingGates" not in free["spec"]
    assert free["metadata"]["generation"] == 3


async def test_a_gate_that_is_not_there_fails_the_test_of_a_patch(api: Api, namespace: str) -> None:
    await api.client.create(PODS, pod(FIRST), namespace=namespace)
    test = {"op": "test", "path": "/spec/schedulingGates/0/name", "value": SECOND}
    with pytest.raises(kube.Invalid):
        await patched(api, namespace, test, remove("/spec/schedulingGates/0"))


async def test_no_gate_comes_later(api: Api, namespace: str) -> None:
    await api.client.create(PODS, pod(FIRST), namespace=namespace)
    added = {"op": "add", "path": "/spec/schedulingGates/-", "value": {"name": SECOND}}
    refusal = r"spec\.schedulingGates\[1\]\.name: Forbidden: only deletion is allowed, but found"
    with pytest.raises(kube.Invalid, match=rf"{refusal} new scheduling gate '{SECOND}'"):
        await patched(api, namespace, added)


async def test_a_gated_pod_has_no_node(api: Api, namespace: str) -> None:
    refusal = "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
    with pytest.raises(kube.Invalid, match=refusal):
        await api.client.create(PODS, pod(FIRST, nodeName="n"), namespace=namespace)
    await api.client.create(PODS, pod(FIRST), namespace=namespace)
    with pytest.raises(kube.Invalid, match="pod updates may not change fields other than"):
        await api.client.patch(PODS, "p", {"spec": {"nodeName": "n"}}, namespace=namespace)
