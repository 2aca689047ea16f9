"""Held images on a real cluster: the DaemonSet controller, the kubelet and containerd are real.

Lading's processes have the rights of `deploy/` and no others. The images hold one text file each:
no shell, no program, nothing that a container could run by itself.
"""

import json
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lading.api.apps import DAEMON_SETS, DaemonSet
from lading.api.core import PODS, Pod
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS, Image
from lading.ports import kube
from lading.ports.cri import ImageSpec
from lading.ports.kube import Selection
from lading.prepull import holder
from lading.prepull.rules import listed_name
from lading.prepull.types import DefaultImage
from tests.deploy import hold_program
from tests.deploy.manifests import NAMESPACE
from tests.e2e import waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.real import under_test
from tests.real.bed import cluster as cluster_bed
from tests.real.bed import disk, images

MEBIBYTE = 1 << 20
BALLAST_BYTES = 75 * MEBIBYTE
KUBELET_SETTINGS = {
    "evictionHard": {"imagefs.available": "200Mi"},
    "evictionPressureTransitionPeriod": "1s",
    "imageMinimumGCAge": "1s",
}

pytestmark = [
    pytest.mark.components("kube", "containerd"),
    pytest.mark.asyncio(loop_scope="session"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    cluster: ClusterUnderTest
    bed: cluster_bed.Cluster
    hold_image: str

    def push(self, name: str, tag: str) -> str:
        """An image of one text file that no other image shares."""
        made = images.image(files={"cargo.txt": os.urandom(64)})
        return images.push(made, host=self.bed.registry.host, repository=name, tag=tag)

    async def controller_with(self, **listed: str) -> None:
        """The controller with this list, as after a change of its Deployment."""
        if self.cluster.controller.is_running:
            await self.cluster.controller.stop()
        await self.cluster.controller.start(
            f"--prepull-hold-image={self.hold_image}",
            f"--node-name={self.bed.node_name}",
            *(f"--prepull-image={name}={url}" for name, url in listed.items()),
        )

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return self.bed.api_server.kubectl(*arguments, stdin=stdin)

    async def images(self) -> dict[str, Image]:
        page = await self.cluster.kube.page(IMAGES, Selection(namespace=NAMESPACE))
        return {one.metadata.name: one for one in page.items}

    async def pods(self) -> tuple[Pod, ...]:
        selection = Selection(namespace=NAMESPACE, label_selector=holder.HOLDER_SELECTOR)
        return (await self.cluster.kube.page(PODS, selection)).items

    async def daemon_set(self) -> DaemonSet | None:
        try:
            return await self.cluster.kube.get(DAEMON_SETS, holder.NAME, namespace=NAMESPACE)
        except kube.NotFound:
            return None

    async def until_states(self, **wanted: str) -> None:
        """The Images are these, with these states."""

        async def is_so() -> bool:
            return {name: one.status.state for name, one in (await self.images()).items()} == {
                name.replace("_", "-"): state for name, state in wanted.items()
            }

        await waiting.until(is_so, f"the Images are {wanted}", why_not=self.why_not)

    async def why_not(self) -> str:
        found = {name: str(one.status) for name, one in (await self.images()).items()}
        pods = self.kubectl("get", "pods", f"--namespace={NAMESPACE}", "--output=wide")
        return json.dumps(found, indent=1) + pods + self.cluster.controller.log_tail()

    async def held(self) -> set[str]:
        """Images with a ready container on the node, whatever pod it is in."""
        return {
            images_of[status.name]
            for pod in await self.pods()
            if not pod.metadata.deletion_timestamp
            for images_of in [{one.name: one.image for one in pod.spec.containers}]
            for status in pod.status.container_statuses
            if status.ready
        }

    def present(self) -> set[str]:
        """What the runtime has, by tag."""
        known = self.bed.runtime.crictl_json("images")["images"]
        return {tag for one in known for tag in one["repoTags"]}

    async def write_setting(self, value: str) -> None:
        await self.cluster.kube.patch(SETTINGS, SETTING_NAME, {"value": value}, namespace=NAMESPACE)

    async def event_reasons(self, name: str) -> set[str]:
        selector = f"--field-selector=regarding.name={name}"
        found = self.kubectl(
            "get", "events.events.k8s.io", f"--namespace={NAMESPACE}", selector, "--output=json"
        )
        return {one["reason"] for one in json.loads(found)["items"]}


@pytest.fixture(scope="module")
def bed() -> Iterator[cluster_bed.Cluster]:
    """On a small disk: at 200 MiB of free space the kubelet removes every image not in use."""
    with (
        disk.loop_filesystem(512 * MEBIBYTE) as root,
        cluster_bed.cluster(root=root, kubelet_settings=KUBELET_SETTINGS) as running,
    ):
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(
    bed: cluster_bed.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("installed")
    with tempfile.TemporaryDirectory() as made:
        program = hold_program.compiled(Path(made)).read_bytes()
    image = images.image(files={holder.HOLD_PROGRAM.lstrip("/"): program})
    hold_image = images.push(image, host=bed.registry.host, repository="lading", tag="hold")
    async with under_test.on_cluster(bed, folder) as cluster:
        yield World(cluster=cluster, bed=bed, hold_image=hold_image)


def named(name: str, url: str) -> str:
    return listed_name(DefaultImage(name=name, url=url))


async def test_fresh_install_upgrade_and_the_setting(world: World) -> None:
    share, instance = world.push("share-manager", "1"), world.push("instance-manager", "1")
    first = {named("share-manager", share), named("instance-manager", instance)}
    await world.controller_with(**{"share-manager": share, "instance-manager": instance})
    await world.until_states(**dict.fromkeys(first, "deployed"))
    assert {share, instance} <= await world.held()
    assert {share, instance} <= world.present()
    for name, one in (await world.images()).items():
        assert one.status.node_deployment_map == {world.bed.node_name: True}
        assert one.status.owner_id == world.bed.node_name

        async def events_are_written(name: str = name) -> bool:
            return {"Deploying", "Deployed"} <= await world.event_reasons(name)

        await waiting.until(events_are_written, f"{name} was deploying, then deployed")
    made = await world.daemon_set()
    assert made is not None
    _check_pod_security(world, made)

    await _upgrade(world, share, instance)
    await _switch(world)


async def _upgrade(world: World, share: str, instance: str) -> None:
    new_share, new_instance = world.push("share-manager", "2"), world.push("instance-manager", "2")
    await world.controller_with(**{"share-manager": new_share, "instance-manager": new_instance})
    wanted = {named("share-manager", new_share), named("instance-manager", new_instance)}

    async def is_done_without_a_gap() -> bool:
        held = await world.held()
        assert {share, new_share} & held, "no pod holds the old or the new share manager"
        assert {instance, new_instance} & held
        found = await world.images()
        return set(found) == wanted and all(
            one.status.state == "deployed" for one in found.values()
        )

    await waiting.until(is_done_without_a_gap, "the upgrade is done", why_not=world.why_not)
    assert {new_share, new_instance} <= await world.held()


async def _switch(world: World) -> None:
    await world.write_setting("false")
    names = set(await world.images())
    await world.until_states(**dict.fromkeys(names, "unknown"))
    assert await world.daemon_set() is None
    assert all(not one.status.node_deployment_map for one in (await world.images()).values())
    await world.write_setting("true")
    await world.until_states(**dict.fromkeys(names, "deployed"))
    with pytest.raises(kube.Invalid, match="value must be the text 'true' or 'false'"):
        await world.write_setting("yes")


def _check_pod_security(world: World, made: DaemonSet) -> None:
    """The API server accepts the pod in a namespace that enforces `restricted`."""
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "restricted", "labels": level},
    }
    world.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "restricted"},
    }
    world.kubectl("apply", "-f", "-", stdin=json.dumps(account))
    template = made.spec["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": "pod", "namespace": "restricted"},
        "spec": template["spec"],
    }
    world.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))


async def test_an_image_that_does_not_exist_leaves_the_others_alone(world: World) -> None:
    old = world.push("old", "1")
    await world.controller_with(old=old)
    await world.until_states(**{named("old", old): "deployed"})
    absent = f"{world.bed.registry.host}/absent:1"
    added = world.push("added", "1")
    bodies = [
        {
            "apiVersion": IMAGES.api_version,
            "kind": IMAGES.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"imageURL": url},
        }
        for name, url in (("absent", absent), ("added", added))
    ]
    world.kubectl(
        "apply", "-f", "-", stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": bodies})
    )
    await world.until_states(
        **{named("old", old): "deployed", "absent": "error", "added": "deployed"}
    )
    found = (await world.images())["absent"].status
    assert [(one.node, one.reason) for one in found.failures] == [
        (world.bed.node_name, "ImageNotFound")
    ]
    templates = {one.metadata.annotations[holder.TEMPLATE_ANNOTATION] for one in await world.pods()}
    assert len(templates) == 2, "the old pod stays beside the new one"
    world.kubectl("delete", "images.longhorn.io", "absent", "added", f"--namespace={NAMESPACE}")
    await world.until_states(**{named("old", old): "deployed"})


async def test_an_image_that_is_removed_from_the_node_is_pulled_again(world: World) -> None:
    url = world.push("lost", "1")
    await world.controller_with(lost=url)
    await world.until_states(**{named("lost", url): "deployed"})
    (before,) = [one for one in await world.pods() if not one.metadata.deletion_timestamp]

    async def is_seen() -> bool:
        pods = await world.pods()
        return any(
            one.type == "lading.dev/ImagesPresent" for pod in pods for one in pod.status.conditions
        )

    await waiting.until(is_seen, "the agent compared the pod with its runtime")
    world.bed.runtime.crictl("rmi", url)
    assert url not in world.present()

    async def is_back() -> bool:
        return url in world.present()

    await waiting.until(is_back, "the image was pulled again", why_not=world.why_not)
    await world.until_states(**{named("lost", url): "deployed"})
    after = {one.metadata.uid for one in await world.pods() if not one.metadata.deletion_timestamp}
    assert before.metadata.uid not in after


async def test_the_garbage_collection_of_the_kubelet_takes_no_image_that_is_held(
    world: World,
) -> None:
    url = world.push("kept", "1")
    await world.controller_with(kept=url)
    await world.until_states(**{named("kept", url): "deployed"})
    (node,) = world.cluster.nodes
    ballast = {
        await world.cluster.push(f"ballast/{number}", size_bytes=BALLAST_BYTES)
        for number in range(2)
    }
    for one in ballast:
        await node.cri.pull(ImageSpec(image=one))

    async def is_collected() -> bool:
        return not ballast <= await node.present()

    await waiting.until(is_collected, "the kubelet removed an image that nothing uses")
    assert url in world.present()
    for one in ballast:
        await node.cri.remove(ImageSpec(image=one))


async def test_without_a_controller_the_daemon_set_goes_with_the_last_image(world: World) -> None:
    url = world.push("last", "1")
    await world.controller_with(last=url)
    await world.until_states(**{named("last", url): "deployed"})
    await world.cluster.controller.stop()
    world.kubectl("delete", "images.longhorn.io", "--all", f"--namespace={NAMESPACE}")

    async def is_gone() -> bool:
        return await world.daemon_set() is None and not await world.pods()

    await waiting.until(is_gone, "the DaemonSet and its pods are gone")
