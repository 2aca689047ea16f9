"""Held images on a real cluster: the DaemonSet controller, the kubelet and containerd are real.

Lading's processes have the rights of `deploy/` and no others. The images hold one text file each:
no shell, no program, nothing that a container could run by itself.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from lading.api.core import DaemonSet
from tests.deploy.manifests import NAMESPACE
from tests.e2e import waiting
from tests.e2e.prepull import PrePullScenarios, names_of
from tests.real import prepull_world
from tests.real.bed import cluster as cluster_bed
from tests.real.bed import images
from tests.real.prepull_world import World

pytestmark = [
    pytest.mark.components("kube", "containerd"),
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.fixture(scope="module")
def bed() -> Iterator[cluster_bed.Cluster]:
    with prepull_world.bed_with_a_small_disk() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(
    bed: cluster_bed.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    async with prepull_world.opened(bed, tmp_path_factory.mktemp("installed")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def world(opened: World) -> World:
    await opened.clean()
    return opened


@pytest_asyncio.fixture(loop_scope="session")
async def prepull(world: World) -> World:
    await world.start({})
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


async def test_twenty_images_are_held_and_nothing_of_them_runs(world: World) -> None:
    """Among them one that plants a program, one without layers, and an artifact."""
    await world.start({})
    urls = {f"held-{number:02}": await world.push(f"held-{number:02}", "1") for number in range(17)}
    urls |= world.push_unusual()
    assert len(urls) == 20
    for name, url in urls.items():
        await world.make_image(name, url)
    await world.until_deployed(*urls)
    found = await world.images()
    assert {one.status.failures for one in found.values()} == {()}
    assert await world.way() == ("True", "Images are held as image volumes.")
    await world.check_programs(urls.values())
    for name in urls:
        await world.delete_image(name)


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


async def test_a_single_manifest_for_another_architecture_is_not_deployed(world: World) -> None:
    """containerd pulls and mounts it; the platform of its configuration decides."""
    await world.start({})
    await world.make_image("foreign", world.push_image(image_of_another_architecture(), "foreign"))
    await world.until_states({"foreign": "error"})
    found = (await world.images())["foreign"].status
    assert {one.reason for one in found.failures} == {"NoMatchingPlatform"}
    assert found.node_deployment_map == {world.bed.node_name: False}


def image_of_another_architecture() -> images.Image:
    config = {
        "architecture": "s390x",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": []},
    }
    return images.of_blobs(json.dumps(config).encode(), images.CONFIG_TYPE, {})


async def test_an_image_that_is_removed_from_the_node_is_pulled_again(world: World) -> None:
    await prepull_world.check_that_a_removed_image_comes_back(world)


async def test_the_garbage_collection_of_the_kubelet_takes_no_image_that_is_held(
    world: World,
) -> None:
    """A pod that is not critical may be evicted first, and what is then held by none may go."""
    critical = "--prepull-pods={priorityClassName: system-node-critical}"
    await prepull_world.check_that_garbage_collection_takes_no_held_image(world, critical)


async def test_without_a_controller_the_daemon_set_goes_with_the_last_image(world: World) -> None:
    url = await world.push("last", "1")
    await world.start({"last": url})
    await world.until_deployed(*names_of({"last": url}))
    await world.cluster.controller.stop()
    world.kubectl("delete", "images.longhorn.io", "--all", f"--namespace={NAMESPACE}")

    async def is_gone() -> bool:
        return await world.daemon_set() is None and not await world.pods()

    await waiting.until(is_gone, "the DaemonSet and its pods are gone")
