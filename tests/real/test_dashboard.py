"""The dashboard on a real kube-apiserver: an administrator, and a user with few rights."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.web.dashboard import Dashboard
from tests.deploy.manifests import SETTING
from tests.real.accounts import client_of, few_rights
from tests.real.bed import api_server
from tests.real.bed.api_server import ApiServer
from tests.web import clusters
from tests.web.clusters import until

pytestmark = pytest.mark.components("kube")

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
SETS = "pinnedimagesets.machineconfiguration.openshift.io"
REPORTS = "machineconfignodes.machineconfiguration.openshift.io"
TOKEN_WORDS = ("Bearer", "eyJ")  # a ServiceAccount's token begins with the latter


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """One of its own: what the tests install and delete is of the whole cluster."""
    with api_server.api_server() as running:
        for file in (CRDS, SETTING):
            running.kubectl("apply", "--server-side", "-f", str(file))
        running.kubectl("wait", "--for=condition=Established", "--timeout=90s", "crd", "--all")
        yield running


@pytest.fixture
async def admin(server: ApiServer) -> AsyncIterator[KubeClient]:
    async with client_of(server.kubeconfig_path) as client:
        yield client


@pytest.fixture
async def filled(admin: KubeClient, server: ApiServer) -> AsyncIterator[KubeClient]:
    """A worker and a control plane node in their pools, of which the worker reports a set."""
    await clusters.create_pool(admin, "s")
    uid = await clusters.create_set(admin, "s")
    await clusters.create_node(admin, "worker-1")
    await clusters.report(admin, "worker-1", clusters.pinned("s", uid))
    yield admin
    for what in ("mcp", "pis", "nodes", "machineconfignodes"):
        server.kubectl("delete", what, "--all", "--wait=false")


def text_of(dashboard: Dashboard) -> str:
    return dashboard.hub.snapshot().decode()


async def test_an_administrator_sees_nodes_sets_and_changes(filled: KubeClient) -> None:
    async with clusters.following(filled) as dashboard:
        found = await until(
            dashboard, lambda one: one["nodes"]["worker-1"]["cells"]["s"][0] == "Pinned"
        )
        assert {one["state"] for one in found["kinds"].values()} <= {"served", "waiting"}
        entry = {"name": "s", "desiredGeneration": 1, "currentGeneration": 0, "imageCount": 1}
        patch = {"status": {"pinnedImageSets": [entry]}}
        await filled.patch(MACHINE_CONFIG_NODES, "worker-1", patch, subresource="status")
        await until(dashboard, lambda one: one["nodes"]["worker-1"]["cells"]["s"][0] != "Pinned")


async def test_what_a_user_may_not_read_is_named_and_stops_nothing_else(
    filled: KubeClient, server: ApiServer, tmp_path: Path
) -> None:
    kubeconfig = few_rights(server, tmp_path, SETS)
    async with client_of(kubeconfig) as client, clusters.following(client) as dashboard:
        found = await until(
            dashboard,
            lambda one: (
                one["sets"]["s"]
                and one["kinds"][SETS]["state"] == "served"
                and one["kinds"][REPORTS]["state"] == "forbidden"
                and one["kinds"]["nodes"]["state"] == "forbidden"
            ),
        )
        assert found["cluster"]["cluster"]["connected"]
        assert "nodes" not in found
        pins = found["features"]["pins"]
        assert (pins["state"], pins["sentence"]) == (
            "unavailable",
            f"Your account may not list and watch {REPORTS}.",
        )
        assert pins["command"] == f"kubectl auth can-i list {REPORTS}"
        assert found["features"]["prepull"]["state"] == "unavailable"
        assert not any(word in text_of(dashboard) for word in TOKEN_WORDS)


async def test_a_right_that_is_given_later_is_used(
    filled: KubeClient, server: ApiServer, tmp_path: Path
) -> None:
    kubeconfig = few_rights(server, tmp_path, SETS)
    async with client_of(kubeconfig) as client, clusters.following(client) as dashboard:
        await until(dashboard, lambda one: one["kinds"][REPORTS]["state"] == "forbidden")
        few_rights(server, tmp_path, SETS, REPORTS)
        await until(dashboard, lambda one: one["nodes"]["worker-1"]["cells"]["s"][0] == "Pinned")
