"""The controller on an API server in memory, with nodes that are played."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from lading.api.core import DAEMON_SETS, EVENTS, NAMESPACES, PODS
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS
from lading.kernel import conditions
from lading.ports import kube
from lading.ports.kube import PatchType, Selection
from lading.prepull import holder
from lading.prepull.rules import DEPLOYED, PRE_PULL_ENABLED, listed_name
from lading.prepull.types import DefaultImage, PrePullPeriods, Wave
from tests.prepull.clusters import (
    CLOCK,
    REST_SECONDS,
    PrePullCluster,
    opened,
    playing,
    running,
)
from tests.prepull.worlds import NAMESPACE, A, B, C, template_urls


@pytest.fixture
async def cluster() -> AsyncIterator[PrePullCluster]:
    async with opened() as one:
        yield one


def name_of(name: str, url: str) -> str:
    return listed_name(DefaultImage(name=name, url=url))


async def test_a_fresh_install_holds_the_listed_images(cluster: PrePullCluster) -> None:
    for name in ("node-a", "node-b"):
        await cluster.make_node(name)
    async with playing(cluster), running(cluster, ("share-manager", A), ("instance-manager", B)):
        await cluster.until_state("deploying", name_of("share-manager", A))
        await cluster.until_state("deployed")
    found = await cluster.images()
    assert set(found) == {name_of("share-manager", A), name_of("instance-manager", B)}
    for one in found.values():
        assert one.status.node_deployment_map == {"node-a": True, "node-b": True}
    made = await cluster.daemon_set()
    assert made is not None
    assert {one.uid for one in made.metadata.owner_references} == {
        one.metadata.uid for one in found.values()
    }
    containers = made.spec["template"]["spec"]["containers"]
    assert {one["name"] for one in containers} == {
        holder.container_name(A),
        holder.container_name(B),
    }


async def test_an_image_in_another_namespace_is_not_served(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    await cluster.create(NAMESPACES, "other")
    body = {
        "apiVersion": IMAGES.api_version,
        "kind": IMAGES.kind,
        "metadata": {"name": "elsewhere"},
        "spec": {"imageURL": B},
    }
    await cluster.kube.create(IMAGES, body, namespace="other")
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed", name_of("share-manager", A))
    found = await cluster.kube.get(IMAGES, "elsewhere", namespace="other")
    assert found.status.state == ""
    made = await cluster.daemon_set()
    assert made is not None
    assert template_urls(made.spec) == [A]


async def test_false_stops_and_true_starts_again(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed")
        await cluster.write_setting("false")
        await cluster.until_state("unknown")
        assert await cluster.daemon_set() is None
        (kept,) = (await cluster.images()).values()
        assert kept.status.node_deployment_map == {}
        await cluster.write_setting("true")
        await cluster.until_state("deployed")


async def test_another_value_of_the_setting_is_refused(cluster: PrePullCluster) -> None:
    with pytest.raises(kube.Invalid, match="value must be the string 'true' or 'false'"):
        await cluster.create(SETTINGS, SETTING_NAME, value="yes")


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"imageURL": A, "instanceManagerImage": A},
        {"imageURL": "UPPER CASE"},
        {"imageURL": "registry.example.com/a:"},
        {"instanceManagerImage": "registry.example.com/a@sha256:12"},
    ],
)
async def test_a_bad_image_is_refused(cluster: PrePullCluster, spec: dict[str, str]) -> None:
    with pytest.raises(kube.Invalid):
        await cluster.create(IMAGES, "bad", spec=spec)


@pytest.mark.parametrize(
    "url",
    [
        "busybox",
        "library/busybox:1",
        "localhost:5000/a",
        "[::1]:5000/a/b:1",
        f"{A}@sha256:{'0' * 64}",
        "Registry.Example.Com:443/a_b/c__d:1",
    ],
)
async def test_any_reference_that_a_kubelet_takes_is_accepted(
    cluster: PrePullCluster, url: str
) -> None:
    await cluster.make_image("good", url)


async def test_a_setting_that_was_refused_is_tried_again_later(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    cluster.line.refused = "/settings"
    soon = PrePullPeriods(setting_retry_interval=timedelta(seconds=0.5))
    async with running(cluster, ("share-manager", A), periods=soon):

        async def has_reason(reason: str) -> bool:
            found = [
                conditions.find(one.status.conditions, PRE_PULL_ENABLED)
                for one in (await cluster.images()).values()
            ]
            return [one.reason for one in found if one] == [reason]

        await cluster.until(lambda: has_reason("SettingRefused"), "the Setting is refused")
        cluster.line.refused = ""
        await cluster.until(lambda: has_reason("Setting"), "the Setting is made and decides")


async def test_a_refused_daemon_set_that_nothing_wants_any_more_is_no_longer_reported(
    cluster: PrePullCluster,
) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster), running(cluster):
        await cluster.make_image("old", A)
        await cluster.until_state("deployed", "old")
        cluster.line.refused = f"/daemonsets/{holder.NAME}"
        await cluster.make_image("added", B)

        async def reason() -> str:
            found = conditions.find((await cluster.image("old")).status.conditions, DEPLOYED)
            return found.reason if found else ""

        async def is_refused() -> bool:
            return await reason() == "DaemonSetRefused"

        async def is_held() -> bool:
            return await reason() == "Deployed"

        await cluster.until(is_refused, "the refusal is reported")
        await cluster.kube.delete(IMAGES, "added", namespace=NAMESPACE)
        await cluster.until(is_held, "nothing is refused")


async def test_an_image_that_does_not_exist_leaves_the_others_alone(
    cluster: PrePullCluster,
) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster) as nodes, running(cluster):
        await cluster.make_image("old", A)
        await cluster.until_state("deployed", "old")
        nodes.absent[B] = ("ErrImagePull", f"{B}: not found")
        await cluster.make_image("absent", B)
        await cluster.make_image("added", C)
        await cluster.until_state("error", "absent")
        await cluster.until_state("deployed", "old", "added")
        found = (await cluster.image("absent")).status
        assert [(one.node, one.reason) for one in found.failures] == [("node-a", "ImageNotFound")]
        assert len(await cluster.pods()) == 2


async def test_a_pull_secret_that_the_kubelet_did_not_find_is_named(
    cluster: PrePullCluster,
) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster) as nodes, running(cluster, pull_secrets=("there", "regcred")):
        nodes.absent[A] = ("ErrImagePull", f"{A}: 401 Unauthorized")
        await cluster.create(
            EVENTS,
            "missing",
            eventTime="2026-01-01T00:00:00.000000Z",
            reportingController="kubelet",
            reportingInstance="node-a",
            type="Warning",
            reason="FailedToRetrieveImagePullSecret",
            action="Pull",
            note="Unable to retrieve some image pull secrets (regcred, other); attempting to pull "
            "the image may not succeed.",
            regarding={"kind": "Pod", "name": "lading-prepull-1", "namespace": NAMESPACE},
        )
        await cluster.make_image("private", A)

        async def is_named() -> bool:
            failures = (await cluster.image("private")).status.failures
            return any(
                "the Secret regcred of --prepull-pull-secret" in one.message for one in failures
            )

        await cluster.until(is_named, "the Image names the Secret")
        assert (await cluster.image("private")).status.failures[0].reason == "Unauthorized"


async def test_twenty_images_at_once_cost_at_most_two_roll_outs(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster), running(cluster, quiet=timedelta(seconds=1)):
        for number in range(20):
            await cluster.make_image(f"image-{number}", f"registry.example.com/{number}:1")
        await cluster.until_state("deployed", *(f"image-{number}" for number in range(20)))
    made = await cluster.daemon_set()
    assert made is not None
    assert made.metadata.generation <= 2
    assert len(made.spec["template"]["spec"]["containers"]) == 20


async def test_a_wave_of_two_never_lets_a_third_node_pull_and_the_dead_delay_no_one(
    cluster: PrePullCluster,
) -> None:
    names = [f"node-{number:02}" for number in range(20)]
    dead = set(names[:3])
    for name in names:
        await cluster.make_node(name, ready=name not in dead)
    async with playing(cluster, dead=dead, pull_turns=2) as nodes, running(cluster):
        await cluster.make_image("a", A)
        await cluster.until_state("deployed", "a")
        assert nodes.pulling_max == 2
    found = (await cluster.image("a")).status
    assert {name for name, held in found.node_deployment_map.items() if not held} == dead


async def test_an_image_that_is_added_beside_a_bad_one_reaches_the_nodes_in_waves(
    cluster: PrePullCluster,
) -> None:
    for number in range(6):
        await cluster.make_node(f"node-{number}")
    async with playing(cluster) as nodes, running(cluster, wave=Wave(count=1)):
        nodes.absent[A] = ("ErrImagePull", f"{A}: not found")
        await cluster.make_image("a", A)
        await cluster.until_state("error", "a")

        async def all_nodes_tried() -> bool:
            return (await cluster.image("a")).status.failed_node_count == 6

        await cluster.until(all_nodes_tried, "every node has the error")
        nodes.pulling_max, nodes.pull_turns = 0, 3
        await cluster.make_image("b", B)
        await cluster.until_state("deployed", "b")
        assert nodes.pulling_max == 1


async def test_a_hand_edit_and_a_deletion_are_repaired(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed")
        edit = {"spec": {"template": {"spec": {"nodeSelector": {"edited": "by-hand"}}}}}
        await cluster.kube.patch(DAEMON_SETS, holder.NAME, edit, namespace=NAMESPACE)

        async def is_repaired() -> bool:
            found = await cluster.daemon_set()
            return found is not None and "edited" not in json.dumps(found.spec)

        await cluster.until(is_repaired, "the edit is undone")
        made = await cluster.daemon_set()
        assert made is not None
        await cluster.kube.delete(DAEMON_SETS, holder.NAME, namespace=NAMESPACE)

        async def is_made_again() -> bool:
            found = await cluster.daemon_set()
            return found is not None and found.metadata.uid != made.metadata.uid

        await cluster.until(is_made_again, "the DaemonSet is made again")
        await cluster.until_state("deployed")


async def test_at_rest_nothing_is_written(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed")
        written = len(cluster.line.written)
        await CLOCK.sleep(REST_SECONDS)
        assert cluster.line.written[written:] == []


async def test_events_are_read_rarely_while_a_node_has_no_pod(cluster: PrePullCluster) -> None:
    """Nobody makes pods here; each new Image is another pass."""
    await cluster.make_node("node-a")
    periods = PrePullPeriods(
        pod_creation_grace=timedelta(0), missing_pods_interval=timedelta(hours=1)
    )
    async with running(cluster, ("share-manager", A), periods=periods):
        for number in range(3):
            url = f"registry.example.com/{number}:1"
            await cluster.make_image(f"image-{number}", url)

            async def is_in_the_template(url: str = url) -> bool:
                found = await cluster.daemon_set()
                return found is not None and url in json.dumps(found.spec)

            await cluster.until(is_in_the_template, f"the DaemonSet has {url}")
    assert sum(path.endswith("/events") for path in cluster.line.read) == 1


async def test_a_webhook_that_adds_a_label_and_a_sidecar_causes_no_write_loop(
    cluster: PrePullCluster,
) -> None:
    def writes() -> list[tuple[str, str]]:
        return [one for one in cluster.line.written if "/daemonsets" in one[1]]

    async def both_have_written() -> bool:
        return len(writes()) >= 2

    await cluster.make_node("node-a")
    cluster.line.has_webhook = True
    async with playing(cluster):
        async with running(cluster, ("share-manager", A)):
            await cluster.until_state("deployed")
        async with running(cluster, ("share-manager", A)):
            await cluster.until(both_have_written, "each process has written the DaemonSet")
            await CLOCK.sleep(REST_SECONDS)
            await cluster.until_state("deployed")
    made = await cluster.daemon_set()
    assert made is not None
    assert made.spec["template"]["metadata"]["labels"]["injected"] == "true"
    assert made.metadata.generation == 1
    assert len(writes()) == 2, "one for each process"


async def test_upgrading_lading_alone_is_one_roll_out(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster):
        async with running(cluster, ("share-manager", A)):
            await cluster.until_state("deployed")
        before = await cluster.daemon_set()
        assert before is not None
        old = before.metadata.annotations[holder.TEMPLATE_ANNOTATION]
        async with running(cluster, ("share-manager", A), hold_image="lading:2"):

            async def is_rolled_out() -> bool:
                pod, *others = await cluster.pods()
                if others:
                    return False
                template = pod.metadata.annotations[holder.TEMPLATE_ANNOTATION]
                found = await cluster.daemon_set()
                return (
                    found is not None
                    and template == found.metadata.annotations[holder.TEMPLATE_ANNOTATION]
                    and template != old
                )

            await cluster.until(is_rolled_out, "the new pod runs")
        after = await cluster.daemon_set()
    assert after is not None
    assert after.metadata.generation == before.metadata.generation + 1
    policies = [one["imagePullPolicy"] for one in after.spec["template"]["spec"]["containers"]]
    assert policies == ["IfNotPresent"]


async def test_a_lost_image_is_reported_and_its_pod_deleted(cluster: PrePullCluster) -> None:
    await cluster.make_node("node-a")
    async with playing(cluster), running(cluster, ("share-manager", A)):
        await cluster.until_state("deployed")
        (pod,) = await cluster.pods()
        condition = {
            "type": "lading.dev/ImagesPresent",
            "status": "False",
            "reason": "ImagesMissing",
            "message": f"missing: {holder.container_name(A)}",
        }
        await cluster.kube.patch(
            PODS,
            pod.metadata.name,
            {"status": {"conditions": [condition]}},
            namespace=NAMESPACE,
            patch_type=PatchType.STRATEGIC,
            subresource="status",
        )

        async def is_replaced() -> bool:
            found = {one.metadata.uid for one in await cluster.pods()}
            return bool(found) and pod.metadata.uid not in found

        await cluster.until(is_replaced, "another pod holds the image")
        await cluster.until_state("deployed")

        async def is_reported() -> bool:
            selection = Selection(namespace=NAMESPACE, field_selector="reason=ImageLost")
            return [
                (one.regarding.name, one.note)
                for one in (await cluster.kube.page(EVENTS, selection)).items
            ] == [
                (
                    name_of("share-manager", A),
                    "The image was removed from node node-a and is pulled again.",
                )
            ]

        await cluster.until(is_reported, "an event names the Image and the node")


@pytest.mark.parametrize("writes", range(7))
async def test_cut_off_after_any_write_it_ends_the_same_and_leaves_no_gap(
    cluster: PrePullCluster, writes: int
) -> None:
    """An upgrade of the list is begun by a controller that dies, and ended by the next."""
    for name in ("node-a", "node-b"):
        await cluster.make_node(name)
    async with playing(cluster) as nodes:
        async with running(cluster, ("share-manager", A), ("other", C)):
            await cluster.until_state("deployed")
        nodes.watched = ({A, B}, {C})
        cluster.line.writes_left = writes
        async with running(cluster, ("share-manager", B), ("other", C)):

            async def is_dead_or_done() -> bool:
                done = set(await cluster.images()) == {
                    name_of("share-manager", B),
                    name_of("other", C),
                }
                return cluster.line.writes_left == 0 or done

            await cluster.until(is_dead_or_done, "the first controller is cut off")
        cluster.line.writes_left = None
        async with running(cluster, ("share-manager", B), ("other", C)):

            async def is_done() -> bool:
                found = await cluster.images()
                return set(found) == {name_of("share-manager", B), name_of("other", C)} and all(
                    one.status.state == "deployed" for one in found.values()
                )

            await cluster.until(is_done, "the next controller ends it")
        assert nodes.gaps == []
    made = await cluster.daemon_set()
    assert made is not None
    assert set(template_urls(made.spec)) == {B, C}
