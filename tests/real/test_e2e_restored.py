"""An API server whose etcd is restored from a backup: all revisions and generations come again."""

import shutil
from pathlib import Path

import pytest

from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.ports import kube
from tests.e2e import door, expectations, private_registry, waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.judge import Judge, is_ready
from tests.real import under_test
from tests.real.bed import api_server, containerd, registry, restart, sandbox
from tests.real.claims_under_test import ClaimWatch

pytestmark = pytest.mark.components("kube", "containerd", "registry")

LOOKS = 20
"""While the registry is away; each takes 0.1 s or more."""


async def test_a_server_that_is_restored_from_a_backup_is_followed(
    registry_3_1: registry.Registry, tmp_path: Path
) -> None:
    with sandbox.sandbox() as place:
        server = api_server.start(place)
        engine = containerd.start(place, "2.3", registries=[registry_3_1])
        async with (
            door.before(registry_3_1.host) as front,
            private_registry.opened(tmp_path) as private,
            under_test.on_runtime(server, engine, front, private, tmp_path) as cluster,
        ):
            before, after, later, again = [
                await cluster.push(f"restored/{number}") for number in range(4)
            ]
            await cluster.make_set("kept", before)
            await until_pinned(cluster, {"kept": before})
            back_up(place, tmp_path / "backup")
            await expectations.until_accepted(lambda: cluster.edit_set("kept", after))
            await cluster.make_set("forgotten", later)
            await until_pinned(cluster, {"kept": after, "forgotten": later})
            revision = await revision_of(cluster, "kept")

            restore(place, tmp_path / "backup")
            await until_pinned(cluster, {"kept": before})
            assert await revision_of(cluster, "kept") < revision, "nothing was restored"

            # The generation that comes is one that the node once held with other images.
            await front.shut()
            await expectations.until_accepted(lambda: cluster.edit_set("kept", again))
            claims = ClaimWatch(cluster=cluster, judge=Judge())
            for _ in range(LOOKS):
                await claims.look()
                assert not is_ready(await cluster.kube.get(PINNED_IMAGE_SETS, "kept"))
            await front.open()
            await until_pinned(cluster, {"kept": again})


def back_up(place: sandbox.Sandbox, backup: Path) -> None:
    with restart.killed(place, "kube-apiserver"), restart.killed(place, "etcd"):
        shutil.copytree(api_server.etcd_data(place), backup)


def restore(place: sandbox.Sandbox, backup: Path) -> None:
    data = api_server.etcd_data(place)
    with restart.killed(place, "kube-apiserver"), restart.killed(place, "etcd"):
        shutil.rmtree(data)
        shutil.copytree(backup, data)


async def until_pinned(cluster: ClusterUnderTest, images: dict[str, str]) -> None:
    """These sets exist and are Ready, and exactly their images are pinned."""

    async def is_so() -> bool:
        await cluster.controller.start_if_ended()
        try:
            sets = (await cluster.kube.page(PINNED_IMAGE_SETS)).items
            owned = {
                (entry.name, entry.current_generation)
                for entry in (await cluster.machine_config_node(node)).status.pinned_image_sets
            }
        except kube.Transient:
            return False
        return (
            all(is_ready(one) for one in sets)
            and owned == {(one.metadata.name, one.metadata.generation) for one in sets}
            and {one.metadata.name for one in sets} == images.keys()
            and {one for one in await node.pinned() if "/restored/" in one} == {*images.values()}
        )

    async def why_not() -> str:
        return f"{node.agent.log_tail()}\n{cluster.controller.log_tail()}"

    (node,) = cluster.nodes
    await waiting.until(is_so, f"exactly {images} are pinned and Ready", why_not=why_not)


async def revision_of(cluster: ClusterUnderTest, name: str) -> int:
    return int((await cluster.kube.get(PINNED_IMAGE_SETS, name)).metadata.resource_version)
