"""What the manifests of `deploy/` allow on a real API server, and what they do not."""

import contextlib
import json
import os
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient
from lading.api.core import EVENTS
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.rbac import Process
from lading.embedded import node as standalone_node
from lading.embedded.node import NodeDescription
from lading.installation import agent_policies, policies
from lading.ports import kube
from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY
from tests.e2e import waiting
from tests.real import installed
from tests.real.bed import api_server
from tests.real.installed import Installation

pytestmark = pytest.mark.components("kube")

OWN, OTHER = "own-node", "other-node"
OTHER_NAMESPACE = "images"
NO_REGISTRY = "127.0.0.1:1"  # nothing is pulled where no kubelet runs


@pytest.fixture(scope="module")
def server() -> Iterator[api_server.ApiServer]:
    with api_server.api_server() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def installation(
    server: api_server.ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    connection = connect.find({}, file=server.kubeconfig_path)
    async with connect.connect(connection, SystemClock()) as admin:
        for name in (OWN, OTHER):
            await standalone_node.register(admin, NodeDescription(name=name), SystemClock())
        yield installed.on_api_server(
            server,
            tmp_path_factory.mktemp("installed"),
            registry_host=NO_REGISTRY,
            node_name=OWN,
        )


@pytest.mark.parametrize("folder", ["", *manifests.OVERLAYS])
def test_the_manifests_are_accepted_with_strict_validation(
    installation: Installation, folder: str
) -> None:
    output = installation.server.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts"),
        *("-k", str(DEPLOY / folder)),
    )
    assert "daemonset.apps/lading-agent serverside-applied" in output


def is_allowed(server: api_server.ApiServer, component: str, question: str) -> bool:
    """The API server's own answer about `verb resource[.group][/subresource] [namespace]`."""
    verb, what, namespace = (*question.split(), "")[:3]
    whole, _, subresource = what.partition("/")
    resource, _, api_group = whole.partition(".")
    attributes = {
        "verb": verb,
        "resource": resource,
        "group": api_group,
        "subresource": subresource,
        "namespace": namespace,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{Process(component).namespace}:lading-{component}",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    }
    answer = server.kubectl("create", "-f", "-", "--output=json", stdin=json.dumps(review))
    return bool(json.loads(answer)["status"]["allowed"])


@pytest.mark.parametrize(
    ("component", "question"),
    [
        ("agent", "watch nodes"),
        ("agent", "get nodes/configz"),
        ("agent", f"patch machineconfignodes.{group.NAME}"),
        ("agent", f"patch machineconfignodes.{group.NAME}/status"),
        ("agent", "create events.events.k8s.io default"),
        ("agent", "list pods lading-system"),
        ("agent", "patch pods/status lading-system"),
        ("controller", f"create machineconfigpools.{group.NAME}"),
        ("controller", "create leases.coordination.k8s.io lading-system"),
        ("controller", "create events.events.k8s.io lading-system"),
        ("controller", "create events.events.k8s.io default"),
    ],
)
def test_each_may_do_its_work(installation: Installation, component: str, question: str) -> None:
    assert is_allowed(installation.server, component, question)


@pytest.mark.parametrize(
    ("component", "question"),
    [
        ("agent", "get nodes/proxy"),
        ("agent", "patch nodes"),
        ("agent", "get secrets lading-system"),
        ("agent", "list pods"),
        ("agent", f"create machineconfignodes.{group.NAME}"),
        ("agent", f"delete machineconfignodes.{group.NAME}"),
        ("agent", f"patch machineconfigpools.{group.NAME}/status"),
        ("agent", "create events.events.k8s.io kube-system"),
        ("controller", f"patch machineconfignodes.{group.NAME}/status"),
        ("controller", f"patch pinnedimagesets.{group.NAME}"),
        ("controller", "get secrets lading-system"),
        ("controller", "create pods lading-system"),
        ("controller", "patch pods/ephemeralcontainers lading-system"),
        ("controller", "create pods/eviction lading-system"),
        ("controller", "create pods/exec lading-system"),
        ("controller", "create pods/binding lading-system"),
        ("controller", "patch pods/status lading-system"),
        ("controller", "create serviceaccounts/token lading-system"),
        ("controller", "patch deployments.apps lading-system"),
        ("controller", "patch imagepruners.imageregistry.operator.openshift.io"),
        ("controller", "delete pods lading-agents"),
        ("controller", "create daemonsets.apps lading-agents"),
        ("controller", "get leases.coordination.k8s.io kube-system"),
        ("controller", "create events.events.k8s.io kube-system"),
        ("controller", "update customresourcedefinitions.apiextensions.k8s.io"),
    ],
)
def test_each_may_do_nothing_else(
    installation: Installation, component: str, question: str
) -> None:
    assert not is_allowed(installation.server, component, question)


async def make_machine_config_node(admin: KubeClient, name: str) -> None:
    body = {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        "metadata": {"name": name},
        "spec": {"node": {"name": name}, "pool": {"name": "worker"}},
    }
    with contextlib.suppress(kube.AlreadyExists):  # another test made it
        await admin.create(MACHINE_CONFIG_NODES, body)


async def write_status(kubeconfig: Path, name: str) -> None:
    body = {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        "metadata": {"name": name},
        "status": {"observedGeneration": 1},
    }
    connection = connect.find({}, file=kubeconfig)
    async with connect.connect(connection, SystemClock()) as agent:
        await agent.apply(
            MACHINE_CONFIG_NODES, body, field_manager="lading-agent", subresource="status"
        )


async def change_node(kubeconfig: Path, name: str, **changes: Any) -> None:
    async with connect.connect(connect.find({}, file=kubeconfig), SystemClock()) as client:
        await client.patch(MACHINE_CONFIG_NODES, name, changes)


async def is_refused(kubeconfig: Path, name: str, words: str) -> bool:
    return words in await refusal(write_status(kubeconfig, name))


async def refusal(writing: Coroutine[Any, Any, None]) -> str:
    """Why the API server did not take it; empty when it did."""
    try:
        await writing
    except kube.KubeError as error:
        return error.message
    return ""


async def write_event(kubeconfig: Path, name: str, **changes: Any) -> None:
    """One as the agent of the own node writes it, with some fields changed."""
    body = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "lading-agent",
        "reportingInstance": OWN,
        "type": "Normal",
        "reason": "Pinned",
        "action": "SynchronizePinnedImageSets",
        "note": "set a: pinned",
        "regarding": {"kind": MACHINE_CONFIG_NODES.kind, "name": OWN},
        **changes,
    }
    async with connect.connect(connect.find({}, file=kubeconfig), SystemClock()) as client:
        await client.create(EVENTS, body, namespace="default")


async def change_event(kubeconfig: Path, name: str, **changes: Any) -> None:
    async with connect.connect(connect.find({}, file=kubeconfig), SystemClock()) as client:
        await client.patch(EVENTS, name, changes, namespace="default")


@pytest.mark.asyncio(loop_scope="session")
async def test_an_agent_writes_the_status_of_its_own_node_and_of_no_other(
    installation: Installation, tmp_path: Path
) -> None:
    connection = connect.find({}, file=installation.server.kubeconfig_path)
    async with connect.connect(connection, SystemClock()) as admin:
        for name in (OWN, OTHER):
            await make_machine_config_node(admin, name)
    # A policy is in force some time after it was stored.
    await waiting.until(
        lambda: is_refused(
            installation.agent_kubeconfig, OTHER, f"agent of node {OWN} must not write"
        ),
        "the agent cannot write about another node",
    )
    nowhere = installed.identity(installation.server, tmp_path, "agent")
    assert await is_refused(nowhere, OWN, "token names no node")
    await write_status(installation.agent_kubeconfig, OWN)


@pytest.mark.asyncio(loop_scope="session")
async def test_an_agent_changes_only_annotations_of_its_own_node_besides_the_status(
    installation: Installation,
) -> None:
    agent = installation.agent_kubeconfig
    connection = connect.find({}, file=installation.server.kubeconfig_path)
    async with connect.connect(connection, SystemClock()) as admin:
        for name in (OWN, OTHER):
            await make_machine_config_node(admin, name)
    annotated = {"annotations": {"lading.dev/pinned-image-sets": "{}"}}

    async def is_in_force() -> bool:
        return "must not write" in await refusal(change_node(agent, OTHER, metadata=annotated))

    await waiting.until(is_in_force, "the agent cannot write about another node")
    for metadata in (annotated, {"annotations": None}):
        await change_node(agent, OWN, metadata=metadata)
    changes: tuple[dict[str, Any], ...] = (
        {"spec": {"pool": {"name": "master"}}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"finalizers": ["example.com/kept"]}},
    )
    for one in changes:
        assert "must change only the status" in await refusal(change_node(agent, OWN, **one))


@pytest.mark.asyncio(loop_scope="session")
async def test_an_agent_writes_events_about_its_own_node_in_its_own_name(
    installation: Installation,
) -> None:
    agent = installation.agent_kubeconfig
    others = {"kind": MACHINE_CONFIG_NODES.kind, "name": OTHER}

    async def is_in_force() -> bool:
        return "about other objects" in await refusal(
            write_event(agent, "others", regarding=others)
        )

    await waiting.until(is_in_force, "the agent cannot write about another node")
    await write_event(agent, "own")
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}
    await change_event(agent, "own", series=series)
    for changes in (
        {"reportingController": "kubelet"},
        {"reportingInstance": OTHER},
    ):
        assert "as lading-agent" in await refusal(write_event(agent, "false", **changes))
    await write_event(installation.server.kubeconfig_path, "of-other", reportingInstance=OTHER)
    stolen = change_event(agent, "of-other", series=series)
    assert "as lading-agent" in await refusal(stolen)


@pytest.mark.asyncio(loop_scope="session")
async def test_in_another_namespace_agents_are_refused_until_the_policies_are_made_for_it(
    tmp_path: Path,
) -> None:
    with api_server.api_server() as server:
        overlay = Overlay(server, tmp_path)
        moved: dict[str, Any] = {
            "namespace": OTHER_NAMESPACE,
            "components": [overlay.relative(DEPLOY / "one-namespace")],
        }
        overlay.apply(moved)
        async with connect.connect(
            connect.find({}, file=server.kubeconfig_path), SystemClock()
        ) as admin:
            await standalone_node.register(admin, NodeDescription(name=OWN), SystemClock())
            await make_machine_config_node(admin, OWN)
        agent = overlay.agent_kubeconfig()
        await waiting.until(
            lambda: is_refused(agent, OWN, "this policy was made for"),
            "the policies refuse the agent",
        )
        made = agent_policies.agent_policies(namespace=OTHER_NAMESPACE, account="lading-agent")
        (tmp_path / "overlay" / "agent-policy.yaml").write_text(policies.as_yaml(made))
        moved |= {
            "patches": [{"path": "agent-policy.yaml"}],
            "transformers": [overlay.relative(DEPLOY / "fixed-namespaces")],
        }
        overlay.apply(moved)

        async def is_accepted() -> bool:
            return not await refusal(write_status(agent, OWN))

        await waiting.until(is_accepted, "the agent writes the status of its own node")
        await write_event(agent, "own")
        for account in ("lading-controller", "lading-agent"):
            user = f"system:serviceaccount:{OTHER_NAMESPACE}:{account}"
            question = ("auth", "can-i", "create", "events.events.k8s.io", f"--as={user}")
            assert server.kubectl(*question, "--namespace=default") == "yes\n"


@dataclass(frozen=True, slots=True)
class Overlay:
    """A kustomization of a user, over that of `deploy/`."""

    server: api_server.ApiServer
    folder: Path

    def apply(self, kustomization: dict[str, Any]) -> None:
        folder = self.folder / "overlay"
        folder.mkdir(exist_ok=True)
        content = {"resources": [self.relative(DEPLOY)], **kustomization}
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(content))
        self.server.kubectl("apply", "--server-side", "-f", str(DEPLOY / "crds"))
        self.server.kubectl("wait", "--for=condition=Established", "--all", "crd", "--timeout=90s")
        self.server.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(folder))

    def relative(self, path: Path) -> str:
        return os.path.relpath(path, (self.folder / "overlay").resolve())

    def agent_kubeconfig(self) -> Path:
        bound = ("--bound-object-kind=Node", f"--bound-object-name={OWN}")
        token = self.server.kubectl(
            "create", "token", "lading-agent", f"--namespace={OTHER_NAMESPACE}", *bound
        )
        return self.server.write_kubeconfig(self.folder / "agent.kubeconfig", token.strip())
