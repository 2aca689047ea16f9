"""Writes that are guarded: what is no longer what was observed stays as it is."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lading.api.core import DAEMON_SETS, PODS, Pod
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS, ImageStatus
from lading.kernel.objects import Key
from lading.loop.pipeline import PreconditionFailed
from lading.ports import kube
from lading.prepull import apply, holder
from lading.prepull.actions import (
    Action,
    CreateDaemonSet,
    CreateImage,
    CreateSetting,
    DeleteDaemonSet,
    DeleteImage,
    DeletePod,
    RemoveGate,
    ReplaceDaemonSet,
    WriteImageStatus,
)
from lading.prepull.types import FIELD_MANAGER, DefaultImage, PrePullSettings
from tests.conformance.kube.api import resource
from tests.prepull.clusters import PrePullCluster, opened
from tests.prepull.worlds import HOLD_IMAGE, NAMESPACE, A, B, template_urls

GATE = {"name": holder.SCHEDULING_GATE}
OTHER_GATE = {"name": "example.com/other"}
RAW_IMAGES = resource("images", "Image", group="longhorn.io", version="v1beta2")
RAW_SETTINGS = resource("settings", "Setting", group="longhorn.io", version="v1beta2")
RAW_DAEMON_SETS = resource("daemonsets", "DaemonSet", group="apps")


@pytest.fixture
async def cluster() -> AsyncIterator[PrePullCluster]:
    async with opened() as one:
        yield one


def body(*urls: str) -> Any:
    return holder.daemon_set(
        urls, (), PrePullSettings(), namespace=NAMESPACE, hold_image=HOLD_IMAGE
    )


def key(name: str) -> Key:
    return Key(NAMESPACE, name)


async def make_pod(cluster: PrePullCluster, *gates: dict[str, str]) -> Pod:
    spec = {"schedulingGates": list(gates), "containers": [{"name": "c", "image": A}]}
    made: Pod = await cluster.create(PODS, "pod", spec=spec)
    return made


async def gates(cluster: PrePullCluster) -> list[str]:
    found = await cluster.kube.get(PODS, "pod", namespace=NAMESPACE)
    return [one.name for one in found.spec.scheduling_gates]


async def test_a_delete_takes_only_the_object_that_was_observed(cluster: PrePullCluster) -> None:
    await cluster.make_image("a", A)
    await cluster.kube.create(DAEMON_SETS, body(A), namespace=NAMESPACE)
    await make_pod(cluster)
    deletions: dict[Any, Action] = {
        IMAGES: DeleteImage(key=key("a"), uid="of-another", because=""),
        DAEMON_SETS: DeleteDaemonSet(key=key(holder.NAME), uid="of-another", because=""),
        PODS: DeletePod(key=key("pod"), uid="of-another", node="node-a", containers=(), because=""),
    }
    for kind, action in deletions.items():
        with pytest.raises(kube.Conflict):
            await apply.apply(action, cluster.kube)
        assert (await cluster.kube.page(kind)).items


async def test_a_gate_is_removed_from_the_pod_that_was_observed(cluster: PrePullCluster) -> None:
    made = await make_pod(cluster, GATE, OTHER_GATE)
    uid = made.metadata.uid
    with pytest.raises(kube.KubeError):
        await apply.apply(
            RemoveGate(key=key("pod"), uid="of-another", node="node-a", because=""), cluster.kube
        )
    assert await gates(cluster) == [holder.SCHEDULING_GATE, "example.com/other"]
    await apply.apply(RemoveGate(key=key("pod"), uid=uid, node="node-a", because=""), cluster.kube)
    assert await gates(cluster) == ["example.com/other"]
    with pytest.raises(kube.KubeError):
        await apply.apply(
            RemoveGate(key=key("pod"), uid=uid, node="node-a", because=""), cluster.kube
        )
    assert await gates(cluster) == ["example.com/other"], "the gate of another stays"


async def test_a_daemon_set_that_changed_meanwhile_is_not_replaced(cluster: PrePullCluster) -> None:
    observed = await cluster.kube.create(DAEMON_SETS, body(A), namespace=NAMESPACE)
    await cluster.kube.patch(
        DAEMON_SETS, holder.NAME, {"metadata": {"labels": {"new": "1"}}}, namespace=NAMESPACE
    )
    replace = ReplaceDaemonSet(body=body(B), found=observed, because="")
    with pytest.raises(kube.Conflict):
        await apply.apply(replace, cluster.kube)
    found = await cluster.daemon_set()
    assert found is not None
    assert template_urls(found.spec) == [A]


async def test_the_status_of_an_image_that_changed_meanwhile_is_not_written(
    cluster: PrePullCluster,
) -> None:
    await cluster.make_image("a", A)
    observed = await cluster.image("a")
    patch = {"spec": {"imageURL": B}}
    await cluster.kube.patch(IMAGES, "a", patch, namespace=NAMESPACE)
    write = WriteImageStatus(
        key=key("a"),
        resource_version=observed.metadata.resource_version,
        status=ImageStatus(state="deployed"),
        because="",
    )
    with pytest.raises(kube.Conflict):
        await apply.apply(write, cluster.kube)
    assert (await cluster.image("a")).status.state == ""


async def test_every_object_names_its_field_manager(cluster: PrePullCluster) -> None:
    listed = DefaultImage(name="a", url=A)
    await apply.apply(
        CreateImage(namespace=NAMESPACE, name="a", listed=listed, because=""), cluster.kube
    )
    await apply.apply(CreateSetting(namespace=NAMESPACE, value="true", because=""), cluster.kube)
    await apply.apply(CreateDaemonSet(body=body(A), because=""), cluster.kube)
    assert await managers(cluster, RAW_IMAGES, "a") == {FIELD_MANAGER}
    assert await managers(cluster, RAW_SETTINGS, SETTING_NAME) == {FIELD_MANAGER}
    found = await cluster.daemon_set()
    assert found is not None
    await apply.apply(ReplaceDaemonSet(body=body(B), found=found, because=""), cluster.kube)
    assert await managers(cluster, RAW_DAEMON_SETS, holder.NAME) == {FIELD_MANAGER}


async def managers(cluster: PrePullCluster, kind: Any, name: str) -> set[str]:
    found = await cluster.kube.get(kind, name, namespace=NAMESPACE)
    return {one["manager"] for one in found["metadata"]["managedFields"]}


async def test_what_another_process_made_first_stands(cluster: PrePullCluster) -> None:
    await cluster.create(SETTINGS, SETTING_NAME, value="false")
    create = CreateSetting(namespace=NAMESPACE, value="true", because="")
    with pytest.raises(PreconditionFailed):
        await apply.apply(create, cluster.kube)
    found = await cluster.kube.get(SETTINGS, SETTING_NAME, namespace=NAMESPACE)
    assert found.value == "false"
