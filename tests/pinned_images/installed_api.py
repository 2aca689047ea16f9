"""An API server in memory that has the kinds of Lading, as its administrator talks to it."""

from collections.abc import AsyncIterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.installation import apply as installation
from lading.wiring.features import DEFINITIONS


@pytest.fixture
async def api() -> AsyncIterator[KubeClient]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"token": ADMIN})
    client = KubeClient(Authorized(core, "token"))
    await installation.install(client, SystemClock(), DEFINITIONS)
    yield client
    await core.close()


async def describe_node(api: KubeClient, name: str) -> None:
    """As the controller does for each Node."""
    body = {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        "metadata": {"name": name},
        "spec": {"node": {"name": name}, "pool": {"name": "worker"}},
    }
    await api.create(MACHINE_CONFIG_NODES, body)
