"""Held images on other runtimes: as image volumes on CRI-O, by containers on older containerds."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from lading.api.core import SECRETS
from lading.ports import kube
from lading.prepull.types import HOLD_KEY_NAME
from tests.deploy.manifests import NAMESPACE
from tests.real import prepull_world
from tests.real.bed import cluster as cluster_bed
from tests.real.prepull_world import World

pytestmark = [pytest.mark.components("kube"), pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="class")
def bed(request: pytest.FixtureRequest) -> Iterator[cluster_bed.Cluster]:
    with prepull_world.bed_with_a_small_disk(**request.cls.runtime) as running:
        yield running


@pytest_asyncio.fixture(scope="class", loop_scope="session")
async def opened(
    bed: cluster_bed.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    async with prepull_world.opened(bed, tmp_path_factory.mktemp("installed")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def world(opened: World) -> World:
    await opened.clean()
    return opened


async def has_key(world: World) -> bool:
    try:
        await world.kube.get(SECRETS, HOLD_KEY_NAME, namespace=NAMESPACE)
    except kube.NotFound:
        return False
    return True


class HeldByContainers:
    """The image plants a program in the folder that Lading used before it had a key."""

    runtime: dict[str, str]

    async def test_a_program_that_an_image_plants_is_not_started(self, world: World) -> None:
        await world.start({})
        urls = {name: await world.push(name, "1") for name in ("a", "b")}
        urls["linked-volume"] = world.push_unusual()["linked-volume"]
        for name, url in urls.items():
            await world.make_image(name, url)
        await world.until_deployed(*urls)
        held, why = await world.way()
        version = self.runtime["containerd_version"]
        assert held == "False"
        assert why.startswith(
            f"Images are held by containers: {world.bed.node_name} has containerd {version}."
        )
        assert why.endswith("; image volumes need 2.1.")
        assert await has_key(world)
        await world.check_programs(urls.values())


@pytest.mark.components("containerd")
class TestOnContainerd17(HeldByContainers):
    runtime = {"containerd_version": "1.7"}


@pytest.mark.components("containerd")
class TestOnContainerd16(HeldByContainers):
    runtime = {"containerd_version": "1.6"}


UNPRIVILEGED = "--prepull-pods={priorityClassName: lading-prepull}"
"""CRI-O gives pods of system classes a lower `oom_score_adj`. Here it may not: the sandbox has no
right to it, and only containerd has a setting for this."""


@pytest.mark.components("cri-o")
class TestOnCriO:
    runtime = {"runtime_kind": "cri-o"}

    async def test_image_volumes_hold_images_and_nothing_of_them_runs(self, world: World) -> None:
        """CRI-O does not mount an image without layers, and says so."""
        await world.start({}, UNPRIVILEGED)
        urls = {name: await world.push(name, "1") for name in ("a", "b")} | world.push_unusual()
        faulty = {"nothing": urls.pop("nothing"), "absent": f"{world.registry_host}/absent:1"}
        for name, url in (urls | faulty).items():
            await world.make_image(name, url)
        states = dict.fromkeys(urls, "deployed") | dict.fromkeys(faulty, "error")
        await world.until_states(states)
        found = await world.images()
        (failure,) = found["nothing"].status.failures
        assert failure.reason == "CannotStart"
        assert "ImageVolumeMountFailed" in failure.message
        (failure,) = found["absent"].status.failures
        assert failure.reason == "ImageNotFound"
        assert await world.way() == ("True", "Images are held as image volumes.")
        assert not await has_key(world)
        await world.check_programs(urls.values())
        for name in (*urls, *faulty):
            await world.delete_image(name)

    async def test_neither_a_person_nor_the_kubelet_can_remove_a_held_image(
        self, world: World
    ) -> None:
        """CRI-O itself refuses it."""
        url = await prepull_world.check_that_garbage_collection_takes_no_held_image(
            world, UNPRIVILEGED
        )
        with pytest.raises(AssertionError, match="the image is in use by"):
            world.bed.runtime.crictl("rmi", url)
