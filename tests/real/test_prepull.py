"""Held images on a real cluster: the DaemonSet controller, the kubelet and containerd are real.

Lading's processes have the rights of `deploy/` and no others. The images hold one text file each:
no shell, no program, nothing that a container could run by itself.
"""

import json
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lading.adapters.kube.client import KubeClient
from lading.api.apps import DaemonSet
from lading.ports.cri import ImageSpec
from lading.prepull import holder
from tests.deploy import hold_program
from tests.deploy.manifests import NAMESPACE
from tests.e2e import waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.prepull import PrePullScenarios, PrePullUnderTest, names_of
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
class World(PrePullUnderTest):
    cluster: ClusterUnderTest
    bed: cluster_bed.Cluster
    hold_image: str
    namespace: str = NAMESPACE

    @property
    def node_names(self) -> tuple[str, ...]:
        return (self.bed.node_name,)

    @property
    def kube(self) -> KubeClient:
        return self.cluster.kube

    @property
    def registry_host(self) -> str:
        return self.bed.registry.host

    async def push(self, name: str, tag: str) -> str:
        made = images.image(files={"cargo.txt": os.urandom(64)})
        return images.push(made, host=self.registry_host, repository=name, tag=tag)

    async def start(self, listed: Mapping[str, str], *options: str) -> None:
        if self.cluster.controller.is_running:
            await self.cluster.controller.stop()
        await self.cluster.controller.start(
            f"--prepull-hold-image={self.hold_image}",
            f"--node-name={self.bed.node_name}",
            *(f"--prepull-image={name}={url}" for name, url in listed.items()),
            *options,
        )

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return self.bed.api_server.kubectl(*arguments, stdin=stdin)

    async def why_not(self) -> str:
        found = await super(World, self).why_not()
        return found + self.cluster.controller.log_tail()

    async def present(self, node: str) -> set[str]:
        known = self.bed.runtime.crictl_json("images")["images"]
        return {tag for one in known for tag in one["repoTags"]}


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


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def prepull(world: World) -> World:
    return world


class TestKubernetes(PrePullScenarios):
    pass


async def test_a_namespace_that_enforces_restricted_accepts_the_pod(world: World) -> None:
    listed = {"restricted": await world.push("restricted", "1")}
    await world.start(listed)
    await world.until_deployed(*names_of(listed))
    made = await world.daemon_set()
    assert made is not None
    _check_pod_security(world, made)


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


async def test_a_pull_secret_that_is_missing_is_named(world: World) -> None:
    listed = {"private": await world.cluster.private.push("held")}
    await world.start(listed, "--prepull-pull-secret=absent")
    (name,) = names_of(listed)

    async def is_named() -> bool:
        found = (await world.images()).get(name)
        return found is not None and any(
            one.reason == "Unauthorized"
            and "the Secret absent of --prepull-pull-secret" in one.message
            for one in found.status.failures
        )

    await world.until(is_named, "the Image names the Secret")


async def test_an_image_that_is_removed_from_the_node_is_pulled_again(world: World) -> None:
    url = await world.push("lost", "1")
    await world.start({"lost": url})
    await world.until_deployed(*names_of({"lost": url}))
    (before,) = [one for one in await world.pods() if not one.metadata.deletion_timestamp]

    async def is_seen() -> bool:
        pods = await world.pods()
        return any(
            one.type == "lading.dev/ImagesPresent" for pod in pods for one in pod.status.conditions
        )

    await waiting.until(is_seen, "the agent compared the pod with its runtime")
    world.bed.runtime.crictl("rmi", url)
    assert url not in await world.present(world.bed.node_name)

    async def is_back() -> bool:
        return url in await world.present(world.bed.node_name)

    await waiting.until(is_back, "the image was pulled again", why_not=world.why_not)
    await world.until_deployed(*names_of({"lost": url}))
    after = {one.metadata.uid for one in await world.pods() if not one.metadata.deletion_timestamp}
    assert before.metadata.uid not in after


async def test_the_garbage_collection_of_the_kubelet_takes_no_image_that_is_held(
    world: World,
) -> None:
    """A pod that is not critical may be evicted first, and what is then held by none may go."""
    url = await world.push("kept", "1")
    await world.start({"kept": url}, "--prepull-priority-class=system-node-critical")
    await world.until_deployed(*names_of({"kept": url}))
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
    assert url in await world.present(world.bed.node_name)
    for one in ballast:
        await node.cri.remove(ImageSpec(image=one))


async def test_without_a_controller_the_daemon_set_goes_with_the_last_image(world: World) -> None:
    url = await world.push("last", "1")
    await world.start({"last": url})
    await world.until_deployed(*names_of({"last": url}))
    await world.cluster.controller.stop()
    world.kubectl("delete", "images.longhorn.io", "--all", f"--namespace={NAMESPACE}")

    async def is_gone() -> bool:
        return await world.daemon_set() is None and not await world.pods()

    await waiting.until(is_gone, "the DaemonSet and its pods are gone")
