"""In which way the controller holds images, on clusters with old nodes and old API servers."""

import base64
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.api.core import DAEMON_SETS, SECRETS, DaemonSet, Secret
from lading.kernel import conditions
from lading.kernel.values import replace
from lading.ports import kube
from lading.prepull import holder
from lading.prepull.holding import HoldingWay
from lading.prepull.rules import HELD_AS_IMAGE_VOLUME
from lading.prepull.types import HOLD_KEY_NAME
from tests.prepull.clusters import (
    CLOCK,
    PERIODS,
    REST_SECONDS,
    PrePullCluster,
    opened,
    playing,
    running,
)
from tests.prepull.worlds import NAMESPACE, A, B, template_urls

BEFORE = Path(__file__).parents[1] / "golden" / "prepull" / "before-image-volumes.yaml"
NEW = {"kubelet": "v1.36.3", "runtime": "containerd://2.3.1"}
OLD = {"kubelet": "v1.36.3", "runtime": "containerd://1.7.35"}


@pytest.fixture
async def cluster() -> AsyncIterator[PrePullCluster]:
    async with opened() as one:
        yield one


async def key_of(cluster: PrePullCluster) -> Secret | None:
    try:
        return await cluster.kube.get(SECRETS, HOLD_KEY_NAME, namespace=NAMESPACE)
    except kube.NotFound:
        return None


async def way_of(cluster: PrePullCluster) -> HoldingWay | None:
    found = await cluster.daemon_set()
    return holder.way_of(found.spec) if found else None


async def reported(cluster: PrePullCluster, name: str = "a") -> Any:
    found = (await cluster.image(name)).status
    return conditions.find(found.conditions, HELD_AS_IMAGE_VOLUME)


async def until_reported(cluster: PrePullCluster, text: str, name: str = "a") -> None:
    async def is_so() -> bool:
        found = await reported(cluster, name)
        return found is not None and text in found.message

    await cluster.until(is_so, f"the Image says: {text}")


async def until_way(cluster: PrePullCluster, way: HoldingWay) -> None:
    async def is_so() -> bool:
        return await way_of(cluster) is way

    await cluster.until(is_so, f"images are held as {way}")


async def test_new_nodes_hold_images_as_volumes_and_no_key_is_made(
    cluster: PrePullCluster,
) -> None:
    await cluster.make_node("node-a")
    await cluster.set_versions("node-a", **NEW)
    await cluster.make_image("a", A)
    async with playing(cluster), running(cluster):
        await cluster.until_state("deployed")
        found = await reported(cluster)
    assert (found.status, found.reason) == ("True", "ImageVolumes")
    assert found.message == "Images are held as image volumes."
    assert await way_of(cluster) is HoldingWay.IMAGE_VOLUMES
    assert await key_of(cluster) is None


async def test_an_old_node_leads_to_containers_with_a_key_of_the_installation(
    cluster: PrePullCluster,
) -> None:
    for name, versions in (("node-a", NEW), ("node-b", OLD)):
        await cluster.make_node(name)
        await cluster.set_versions(name, **versions)
    await cluster.make_image("a", A)
    async with playing(cluster), running(cluster):
        await cluster.until_state("deployed")
        await until_reported(cluster, "node-b has containerd 1.7.35; image volumes need 2.1.")
        assert (await reported(cluster)).reason == "Containers"
    found = await cluster.daemon_set()
    secret = await key_of(cluster)
    assert found is not None
    assert secret is not None
    assert holder.way_of(found.spec) is HoldingWay.CONTAINERS
    assert secret.type == "Opaque"
    assert len(base64.b64decode(secret.data["key"])) == 32
    before = await cluster.daemon_set()
    async with playing(cluster), running(cluster):
        await CLOCK.sleep(REST_SECONDS)
        assert await key_of(cluster) == secret
    after = await cluster.daemon_set()
    assert before is not None
    assert after is not None
    assert after.spec == before.spec, "another controller with the same key writes the same"


async def test_an_old_node_that_comes_changes_the_way_without_a_gap_and_one_that_goes_waits(
    cluster: PrePullCluster,
) -> None:
    await cluster.make_node("node-a")
    await cluster.set_versions("node-a", **NEW)
    await cluster.make_image("a", A)
    periods = replace(
        PERIODS, holding_settle=timedelta(seconds=2), status_interval=timedelta(seconds=0.1)
    )
    async with playing(cluster) as nodes, running(cluster, periods=periods):
        await cluster.until_state("deployed")
        nodes.watched = ({A},)
        await cluster.set_versions("node-a", **OLD)
        await until_way(cluster, HoldingWay.CONTAINERS)
        await cluster.set_versions("node-a", **NEW)
        await until_reported(cluster, "because an older node may come back")
        assert await way_of(cluster) is HoldingWay.CONTAINERS
        await until_way(cluster, HoldingWay.IMAGE_VOLUMES)
        await cluster.until_state("deployed")
        assert nodes.gaps == []


async def install_before(cluster: PrePullCluster) -> DaemonSet:
    """The DaemonSet as the version before image volumes wrote it, with its Images."""
    for name, url in (("a", A), ("b", B)):
        await cluster.make_image(name, url)
    uids = {name: one.metadata.uid for name, one in (await cluster.images()).items()}
    body = yaml.safe_load(BEFORE.read_text(encoding="utf-8"))
    for owner in body["metadata"]["ownerReferences"]:
        owner["uid"] = uids[owner["name"]]
    assert template_urls(body["spec"]) == [A, B]
    return await cluster.kube.create(DAEMON_SETS, body, namespace=NAMESPACE)


@pytest.mark.parametrize(
    ("versions", "way"), [(NEW, HoldingWay.IMAGE_VOLUMES), (OLD, HoldingWay.CONTAINERS)]
)
async def test_an_upgrade_in_place_loses_nothing_that_was_held(
    cluster: PrePullCluster, versions: dict[str, str], way: HoldingWay
) -> None:
    for name in ("node-a", "node-b"):
        await cluster.make_node(name)
        await cluster.set_versions(name, **versions)
    before = await install_before(cluster)
    async with playing(cluster) as nodes:
        # The version before removed the gates of its pods.
        template = before.spec["template"]
        template["spec"].pop("schedulingGates")
        patch = {"spec": {"template": {"spec": {"schedulingGates": None}}}}
        await cluster.kube.patch(DAEMON_SETS, holder.NAME, patch, namespace=NAMESPACE)

        async def is_held() -> bool:
            pods = await cluster.pods()
            return len(pods) == 2 and all(len(pod.status.container_statuses) == 2 for pod in pods)

        await cluster.until(is_held, "the version before holds both images on both nodes")
        nodes.watched = ({A}, {B})
        async with running(cluster):
            await until_way(cluster, way)
            await cluster.until_state("deployed")

            async def only_new_pods_are_left() -> bool:
                found = await cluster.daemon_set()
                assert found is not None
                wanted = found.metadata.annotations[holder.TEMPLATE_ANNOTATION]
                pods = await cluster.pods()
                templates = {one.metadata.annotations[holder.TEMPLATE_ANNOTATION] for one in pods}
                return templates == {wanted}

            await cluster.until(only_new_pods_are_left, "every node has its new pod")
        assert nodes.gaps == []
    after = await cluster.daemon_set()
    assert after is not None
    assert after.metadata.uid == before.metadata.uid, "it was updated, not made again"
    assert set(template_urls(after.spec)) == {A, B}


async def test_an_api_server_that_drops_image_volumes_leads_to_containers(
    cluster: PrePullCluster,
) -> None:
    cluster.line.drops_image_volumes = True
    await cluster.make_node("node-a")
    await cluster.set_versions("node-a", **NEW)
    await cluster.make_image("a", A)
    async with playing(cluster), running(cluster):
        await cluster.until_state("deployed")
        await until_reported(cluster, "Turn on its feature gate ImageVolume")
    assert await way_of(cluster) is HoldingWay.CONTAINERS
    writes = len(cluster.line.written)
    async with playing(cluster), running(cluster):
        await CLOCK.sleep(REST_SECONDS)
    again = [path for method, path in cluster.line.written[writes:] if "daemonsets" in path]
    assert len(again) <= 1, "the next controller does not try image volumes at once"


async def until_reason(cluster: PrePullCluster, reason: str) -> None:
    async def is_reported() -> bool:
        found = conditions.find((await cluster.image("a")).status.conditions, "Deployed")
        return found is not None and found.reason == reason

    await cluster.until(is_reported, f"the Image has the reason {reason}")


async def test_a_key_that_cannot_be_created_is_reported_and_tried_again(
    cluster: PrePullCluster,
) -> None:
    cluster.line.refused = "/secrets"
    await cluster.make_node("node-a")
    await cluster.set_versions("node-a", **OLD)
    await cluster.make_image("a", A)
    async with playing(cluster), running(cluster):
        await until_reason(cluster, "HoldKeyUnknown")
        assert await cluster.daemon_set() is None
        cluster.line.refused = ""
        await cluster.until_state("deployed")
    assert await way_of(cluster) is HoldingWay.CONTAINERS


@pytest.mark.parametrize("data", [{}, {"key": base64.b64encode(b"short").decode()}])
async def test_a_secret_without_a_key_is_reported_and_left_alone(
    cluster: PrePullCluster, data: dict[str, str]
) -> None:
    await cluster.create(SECRETS, HOLD_KEY_NAME, type="Opaque", data=data)
    await cluster.make_node("node-a")
    await cluster.set_versions("node-a", **OLD)
    await cluster.make_image("a", A)
    async with playing(cluster), running(cluster):
        await until_reason(cluster, "HoldKeyUnknown")
    found = conditions.find((await cluster.image("a")).status.conditions, "Deployed")
    assert found is not None
    assert found.message == (
        "Secret lading-system/lading-prepull-key: data.key: expected 32 bytes. Delete the Secret;"
        " the controller creates it again."
    )
    assert await cluster.daemon_set() is None
    secret = await key_of(cluster)
    assert secret is not None
    assert secret.data == data


async def test_the_key_is_in_no_object_but_its_secret(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    await cluster.set_versions("node-a", **OLD)
    await cluster.make_image("a", A)
    async with playing(cluster), running(cluster):
        await cluster.until_state("deployed")
    secret = await key_of(cluster)
    found = await cluster.daemon_set()
    assert secret is not None
    assert found is not None
    value = base64.b64decode(secret.data["key"])
    texts = json.dumps(found.spec) + repr(await cluster.images()) + repr(await cluster.pods())
    for form in (secret.data["key"], value.hex()):
        assert form not in texts
