"""Which objects a registry leaves behind when it gets another address."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import cluster_registry, sample_sets
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.installation import apply as installation
from lading.wiring.features import DEFINITIONS

DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture
async def api() -> AsyncIterator[KubeClient]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"token": ADMIN})
    client = KubeClient(Authorized(core, "token"))
    await installation.install(client, SystemClock(), DEFINITIONS)
    yield client
    await core.close()


async def test_an_object_at_a_port_that_begins_with_the_same_digits_is_not_left_behind(
    api: KubeClient,
) -> None:
    for name, host in (("moved", "127.0.0.1:5000"), ("other", "127.0.0.1:50001")):
        body = sample_sets.set_of(name, [f"{host}/app@{DIGEST}"])
        await api.create(PINNED_IMAGE_SETS, body)
    assert await cluster_registry.left_behind(api, "127.0.0.1:5000") == ("pinnedimageset/moved",)
    assert await cluster_registry.left_behind(api, "127.0.0.1:50001") == ("pinnedimageset/other",)
    assert await cluster_registry.left_behind(api, "27.0.0.1:5000") == ()


async def test_a_pruner_names_a_registry_by_its_url(api: KubeClient) -> None:
    body = {
        "apiVersion": IMAGE_PRUNERS.api_version,
        "kind": IMAGE_PRUNERS.kind,
        "metadata": {"name": "cluster"},
        "spec": {"registries": [{"name": "local", "url": "http://127.0.0.1:5000"}]},
    }
    await api.create(IMAGE_PRUNERS, body)
    assert await cluster_registry.left_behind(api, "127.0.0.1:5000") == ("imagepruner/cluster",)
    assert await cluster_registry.left_behind(api, "127.0.0.1:500") == ()


def test_every_port_that_it_had_is_remembered(tmp_path: Path) -> None:
    note = tmp_path / "registry-former-ports"
    moves = [(0, 5000), (5000, 5001), (5001, 5002), (5002, 5000), (5000, 5000)]
    found = [cluster_registry._former_ports(note, last=last, now=now) for last, now in moves]
    assert found == [(), (5000,), (5000, 5001), (5001, 5002), (5001, 5002)]
