"""The manifests on the embedded API server: accepted to the letter, and no right too many."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.discovery import Catalogue
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.ports import kube
from lading.ports.kube import PatchType
from lading.servers.kube.authentication import ADMIN, User
from lading.servers.kube.core import Core
from lading.servers.kube.storage import memory
from lading.standalone.api_server import Authorized
from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY, Document

STRICT = "Strict"
FIELD_MANAGER = "kubectl"
AGENT = "system:serviceaccount:lading-system:lading-agent"
NODE_NAME = "authentication.kubernetes.io/node-name"
IDENTITIES = {
    "admin": ADMIN,
    "agent-of-a": User(name=AGENT, extra={NODE_NAME: ("node-a",)}),
    "agent-of-nowhere": User(name=AGENT),
}


@contextlib.asynccontextmanager
async def installed() -> AsyncIterator[dict[str, KubeClient]]:
    """A client for each identity, of a server that has everything of `deploy/`."""
    core = Core(memory.MemoryStorage(), SystemClock(), tokens=IDENTITIES)
    clients = {name: KubeClient(Authorized(core, name)) for name in IDENTITIES}
    try:
        for documents in (manifests.definitions(), manifests.base()):
            catalogue = await discovery.discover(clients["admin"])
            for document in documents:
                await apply(clients["admin"], catalogue, document)
        yield clients
    finally:
        await core.close()


async def apply(client: KubeClient, catalogue: Catalogue, document: Document) -> None:
    resource = catalogue.of_kind(document["apiVersion"], document["kind"])
    await client.apply(resource, document, field_manager=FIELD_MANAGER, field_validation=STRICT)


@pytest.mark.parametrize("overlay", manifests.OVERLAYS)
async def test_everything_is_accepted_with_strict_validation(overlay: str) -> None:
    async with installed() as clients:
        catalogue = await discovery.discover(clients["admin"])
        for document in manifests.overlay(overlay):
            patched = await clients["admin"].patch(
                catalogue.of_kind(document["apiVersion"], document["kind"]),
                document["metadata"]["name"],
                document,
                namespace=manifests.NAMESPACE,
                patch_type=PatchType.STRATEGIC,
                field_validation=STRICT,
            )
            mounted = {
                one["name"]
                for container in patched["spec"]["template"]["spec"]["containers"]
                for one in container["volumeMounts"]
            }
            volumes = {one["name"] for one in patched["spec"]["template"]["spec"]["volumes"]}
            assert mounted == volumes


async def write_status(client: KubeClient, name: str) -> Any:
    body = {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        "metadata": {"name": name},
        "status": {"observedGeneration": 1},
    }
    return await client.apply(
        MACHINE_CONFIG_NODES, body, field_manager="lading-agent", subresource="status"
    )


async def make_machine_config_node(client: KubeClient, name: str) -> None:
    body = {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        "metadata": {"name": name},
        "spec": {"node": {"name": name}, "pool": {"name": "worker"}},
    }
    await client.create(MACHINE_CONFIG_NODES, body)


async def test_an_agent_writes_the_status_of_its_own_node_and_of_no_other() -> None:
    async with installed() as clients:
        for name in ("node-a", "node-b"):
            await make_machine_config_node(clients["admin"], name)
        await write_status(clients["agent-of-a"], "node-a")
        with pytest.raises(kube.KubeError, match="agent of node node-a must not write"):
            await write_status(clients["agent-of-a"], "node-b")
        with pytest.raises(kube.KubeError, match="token names no node"):
            await write_status(clients["agent-of-nowhere"], "node-a")
        await write_status(clients["admin"], "node-b")


def roles() -> list[Document]:
    return [one for one in manifests.base() if one["kind"] in ("Role", "ClusterRole")]


@pytest.mark.parametrize("role", roles(), ids=lambda role: role["metadata"]["name"])
def test_no_role_reads_secrets_reaches_into_pods_or_says_everything(role: Document) -> None:
    for rule in role["rules"]:
        assert not {"secrets", "nodes/proxy", "pods/exec"} & set(rule["resources"])
        words = [*rule["resources"], *rule["verbs"], *rule["apiGroups"]]
        assert "*" not in words


def writes(component: str) -> set[tuple[str, str, str, str]]:
    """(namespace, resource, verb, name) of everything but reading; "" is all of them."""
    return {
        (role["metadata"].get("namespace", ""), resource, verb, name)
        for role in roles()
        if role["metadata"]["name"] == f"lading-{component}"
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in set(rule["verbs"]) - {"get", "list", "watch"}
        for name in rule.get("resourceNames", ("",))
    }


def test_an_agent_writes_only_its_status_and_events() -> None:
    assert writes("agent") == {
        ("", "machineconfignodes/status", "patch", ""),
        ("default", "events", "create", ""),
        ("default", "events", "patch", ""),
    }


def test_the_controller_writes_only_pools_nodes_statuses_its_lease_and_events() -> None:
    events = {
        (namespace, "events", verb, "")
        for namespace in ("default", manifests.NAMESPACE)
        for verb in ("create", "patch")
    }
    assert writes("controller") == events | {
        ("", "machineconfigpools", "create", ""),
        ("", "machineconfigpools", "patch", ""),
        ("", "machineconfigpools/status", "patch", ""),
        ("", "machineconfigurations/status", "patch", ""),
        ("", "machineconfignodes", "create", ""),
        ("", "machineconfignodes", "patch", ""),
        ("", "pinnedimagesets/status", "patch", ""),
        (manifests.NAMESPACE, "leases", "create", ""),
        (manifests.NAMESPACE, "leases", "patch", "lading-controller"),
    }


def test_every_role_is_bound_to_the_account_it_is_named_after() -> None:
    bindings = [one for one in manifests.base() if one["kind"].endswith("Binding")]
    bound = [one for one in bindings if "roleRef" in one]
    assert [one["metadata"] for one in bound] == [one["metadata"] for one in roles()]
    for binding in bound:
        assert binding["roleRef"]["name"] == binding["metadata"]["name"]
        (account,) = binding["subjects"]
        assert (account["name"], account["namespace"]) == (
            binding["metadata"]["name"],
            manifests.NAMESPACE,
        )


@pytest.mark.parametrize("folder", ["", "base", *manifests.OVERLAYS])
def test_a_kustomization_names_every_file_beside_it(folder: str) -> None:
    listed = manifests.kustomization(folder)
    named = {*listed["resources"], *(one["path"] for one in listed.get("patches", ()))}
    here = DEPLOY / folder
    beside = {one.name for one in here.glob("*.yaml")} - {manifests.KUSTOMIZATION}
    generated = {f"crds/{one.name}" for one in (here / "crds").glob("*.yaml")}
    assert beside | generated <= named
    assert all((here / Path(name)).exists() for name in named)
