"""The manifests on the embedded API server: accepted to the letter, and no right too many."""

import contextlib
import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.discovery import Catalogue
from lading.api.apps import DAEMON_SETS
from lading.api.batch import CRON_JOBS
from lading.api.core import PODS
from lading.api.events import EVENTS
from lading.api.imageregistry import StoredImagePruner
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.rbac_objects import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.installation import policies
from lading.kernel.objects import ObjectMeta
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.kube import PatchType
from lading.prepull import holder
from lading.prepull.types import HOLD_KEY_NAME, PrePullSettings
from lading.pruning.operator import effective, objects
from lading.pruning.operator.objects import binding_name
from lading.pruning.operator.types import (
    DECISION_NAME,
    OBJECT_NAME,
    OPENSHIFT_ROLE,
    REPORT_NAME,
    SYSTEM_ROLE,
)
from lading.servers.kube.authentication import ADMIN, User
from lading.servers.kube.core import Core
from lading.servers.kube.storage import memory
from lading.standalone.api_server import Authorized
from lading.wiring import agent as wiring_agent
from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY, OVERLAYS, Document, overlay

STRICT = "Strict"
FIELD_MANAGER = "kubectl"
ACCOUNT = "system:serviceaccount:{}:{}"
AGENT = ACCOUNT.format("lading-system", "lading-agent")
NODE_NAME = "authentication.kubernetes.io/node-name"
IDENTITIES = {
    "admin": ADMIN,
    "agent-of-a": User(name=AGENT, extra={NODE_NAME: ("node-a",)}),
    "agent-of-nowhere": User(name=AGENT),
    "in-another-namespace": User(
        name=ACCOUNT.format("images", "lading-agent"), extra={NODE_NAME: ("node-a",)}
    ),
    "controller": User(
        name=ACCOUNT.format("lading-system", "lading-controller"), groups=("system:masters",)
    ),
    "controller-in-another-namespace": User(
        name=ACCOUNT.format("images", "lading-controller"), groups=("system:masters",)
    ),
    "with-a-prefix": User(
        name=ACCOUNT.format("lading-system", "my-lading-agent"), extra={NODE_NAME: ("node-a",)}
    ),
    "another-pod": User(
        name=ACCOUNT.format("lading-agent-tests", "default"), extra={NODE_NAME: ("node-a",)}
    ),
}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "1"}
NOT_EMBEDDED = {"PriorityClass"}
"""Kinds that only a real API server has; `make real` installs them there."""
STALE = ("in-another-namespace", "with-a-prefix")


def made_policies() -> list[Document]:
    """From the source: the files of `deploy/` are made of it, and may be older."""
    namespace = manifests.NAMESPACE
    return [
        *policies.agent_policies(namespace=namespace, account=policies.ACCOUNT),
        *policies.controller_policies(namespace=namespace, account=policies.CONTROLLER_ACCOUNT),
    ]


@contextlib.asynccontextmanager
async def installed() -> AsyncIterator[dict[str, KubeClient]]:
    """A client for each identity, of a server that has everything of `deploy/`."""
    core = Core(memory.MemoryStorage(), SystemClock(), tokens=IDENTITIES)
    clients = {name: KubeClient(Authorized(core, name)) for name in IDENTITIES}
    try:
        for documents in (manifests.definitions(), manifests.base(), made_policies()):
            catalogue = await discovery.discover(clients["admin"])
            for document in documents:
                if document["kind"] not in NOT_EMBEDDED:
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


async def change_node(client: KubeClient, name: str, **changes: Any) -> None:
    body = {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        **changes,
        "metadata": {"name": name, **changes.get("metadata", {})},
    }
    await client.apply(MACHINE_CONFIG_NODES, body, field_manager="lading-agent", force=True)


async def test_an_agent_writes_and_removes_annotations_of_its_own_node_and_of_no_other() -> None:
    annotated = {"annotations": {"lading.dev/pinned-image-sets": "{}"}}
    async with installed() as clients:
        for name in ("node-a", "node-b"):
            await make_machine_config_node(clients["admin"], name)
        for metadata in (annotated, {}):
            await change_node(clients["agent-of-a"], "node-a", metadata=metadata)
            with pytest.raises(kube.KubeError, match="agent of node node-a must not write"):
                await change_node(clients["agent-of-a"], "node-b", metadata=annotated)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec": {"pool": {"name": "master"}}}, id="pool"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, id="labels"),
        pytest.param({"metadata": {"finalizers": ["example.com/kept"]}}, id="finalizers"),
        pytest.param({"metadata": {"ownerReferences": [OWNER]}}, id="owners"),
    ],
)
async def test_an_agent_changes_nothing_but_status_and_annotations(changes: Document) -> None:
    async with installed() as clients:
        await make_machine_config_node(clients["admin"], "node-a")
        with pytest.raises(kube.KubeError, match="must change only the status"):
            await change_node(clients["agent-of-a"], "node-a", **changes)
        await change_node(clients["admin"], "node-a", **changes)


async def test_an_agent_neither_makes_nor_deletes_its_machine_config_node() -> None:
    async with installed() as clients:
        with pytest.raises(kube.KubeError, match="must change only the status"):
            await make_machine_config_node(clients["agent-of-a"], "node-a")
        await make_machine_config_node(clients["admin"], "node-a")
        with pytest.raises(kube.KubeError, match="must change only the status"):
            await clients["agent-of-a"].delete(MACHINE_CONFIG_NODES, "node-a")


def event(name: str = "one", **changes: Any) -> dict[str, Any]:
    """An Event as the agent of node-a writes one."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "lading-agent",
        "reportingInstance": "node-a",
        "type": "Normal",
        "reason": "Pinned",
        "action": "SynchronizePinnedImageSets",
        "note": "set a: pinned",
        "regarding": {"kind": "MachineConfigNode", "name": "node-a"},
        **changes,
    }


OLD_FORM = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "old", "namespace": "default"},
    "reportingComponent": "lading-agent",
    "reportingInstance": "node-a",
    "involvedObject": {"kind": "Node", "name": "node-a"},
}
CORE_EVENTS = replace(EVENTS, group="", version="v1")


async def write_event(client: KubeClient, body: dict[str, Any]) -> None:
    resource = EVENTS if body["apiVersion"] == EVENTS.api_version else CORE_EVENTS
    await client.create(resource, body, namespace="default")


@pytest.mark.parametrize("kind", ["MachineConfigNode", "Node"])
async def test_an_agent_writes_events_about_its_own_node(kind: str) -> None:
    async with installed() as clients:
        agent = clients["agent-of-a"]
        await write_event(agent, event(regarding={"kind": kind, "name": "node-a"}))
        again = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}
        await agent.patch(EVENTS, "one", again, namespace="default")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(event(reportingController="kubelet"), "as lading-agent", id="as another"),
        pytest.param(event(reportingInstance="node-b"), "as lading-agent", id="as another node"),
        pytest.param(
            event(regarding={"kind": "MachineConfigNode", "name": "node-b"}),
            "must not write Events about other objects",
            id="about another node",
        ),
        pytest.param(
            event(regarding={"kind": "Pod", "name": "node-a"}),
            "must not write Events about other objects",
            id="about another kind",
        ),
        pytest.param(event(regarding=None), "must not write Events", id="about nothing"),
        pytest.param(OLD_FORM, "only Events of events.k8s.io", id="in the old form"),
    ],
)
async def test_an_agent_writes_no_other_events(body: dict[str, Any], words: str) -> None:
    async with installed() as clients:
        with pytest.raises(kube.KubeError, match=words):
            await write_event(clients["agent-of-a"], body)


async def test_an_agent_changes_and_deletes_no_event_of_another() -> None:
    async with installed() as clients:
        agent = clients["agent-of-a"]
        await write_event(clients["admin"], event("of-b", reportingInstance="node-b"))
        stolen = {"reportingInstance": "node-a", "note": "all is well"}
        with pytest.raises(kube.KubeError, match="as lading-agent"):
            await agent.patch(EVENTS, "of-b", stolen, namespace="default")
        with pytest.raises(kube.KubeError, match="as lading-agent"):
            await agent.delete(EVENTS, "of-b", namespace="default")


@pytest.mark.parametrize("identity", STALE)
async def test_policies_for_other_names_refuse_the_agent(identity: str) -> None:
    """As after `namespace:` or `namePrefix:` in a kustomization, which change no expression."""
    async with installed() as clients:
        await make_machine_config_node(clients["admin"], "node-a")
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await write_status(clients[identity], "node-a")
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await write_event(clients[identity], event())


async def test_the_policies_concern_agents_only() -> None:
    async with installed() as clients:
        await make_machine_config_node(clients["admin"], "node-b")
        await write_status(clients["another-pod"], "node-b")
        await write_event(clients["another-pod"], event(reportingController="other"))


async def make_holder_pod(
    admin: KubeClient, name: str, node: str, label: str = "prepull-holder"
) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"lading.dev/component": label}},
        "spec": {"nodeName": node, "containers": [{"name": "image-a", "image": "a"}]},
    }
    await admin.create(PODS, body, namespace=manifests.NAMESPACE)


async def write_pod(client: KubeClient, name: str, **status: Any) -> None:
    condition = {"type": "lading.dev/ImagesPresent", "status": "True", "reason": "AllPresent"}
    patch = {"status": {"conditions": [condition], **status}}
    await client.patch(
        PODS,
        name,
        patch,
        namespace=manifests.NAMESPACE,
        patch_type=PatchType.STRATEGIC,
        subresource="status",
    )


async def test_an_agent_writes_one_condition_of_the_holder_pods_of_its_node() -> None:
    async with installed() as clients:
        admin, agent = clients["admin"], clients["agent-of-a"]
        await make_holder_pod(admin, "own", "node-a")
        await make_holder_pod(admin, "of-b", "node-b")
        await make_holder_pod(admin, "no-holder", "node-a", label="agent")
        await write_pod(agent, "own")
        for name in ("of-b", "no-holder"):
            with pytest.raises(
                kube.KubeError, match="must write only pods that hold images on that node"
            ):
                await write_pod(agent, name)
        with pytest.raises(kube.KubeError, match="must change only condition"):
            await write_pod(agent, "own", phase="Failed")
        ready = [{"type": "Ready", "status": "True"}]
        with pytest.raises(kube.KubeError, match="must change only condition"):
            await write_pod(agent, "own", conditions=ready)
        found = await admin.get(PODS, "own", namespace=manifests.NAMESPACE)
        assert [one.type for one in found.status.conditions] == ["lading.dev/ImagesPresent"]


def test_no_manifest_has_the_setting_of_pre_pulling() -> None:
    """Applying it again would undo an edit; the controller creates it."""
    documents = [*manifests.base(), *(one for name in OVERLAYS for one in overlay(name))]
    assert "Setting" not in {one["kind"] for one in documents}


def test_holder_pods_push_no_other_pod_out() -> None:
    (found,) = (one for one in manifests.base() if one["kind"] == "PriorityClass")
    assert found["metadata"]["name"] == PrePullSettings().priority_class
    assert found["preemptionPolicy"] == "Never"
    assert not found.get("globalDefault")


def holder_body(**changes: Any) -> Document:
    body = holder.daemon_set(
        ("registry.example.com/a:1",),
        (),
        PrePullSettings(),
        namespace=manifests.NAMESPACE,
        hold_image="lading",
    )
    body["spec"]["template"]["spec"] |= changes
    return body


async def test_the_controller_creates_only_the_daemon_set_that_holds_images() -> None:
    async with installed() as clients:
        controller = clients["controller"]
        await controller.create(DAEMON_SETS, holder_body(), namespace=manifests.NAMESPACE)
        other = holder_body()
        other["metadata"]["name"] = "other"
        with pytest.raises(kube.KubeError, match="must write only DaemonSet lading-prepull"):
            await controller.create(DAEMON_SETS, other, namespace=manifests.NAMESPACE)
        with pytest.raises(kube.KubeError, match="must write only DaemonSet lading-prepull"):
            await controller.delete(DAEMON_SETS, "lading-agent", namespace=manifests.NAMESPACE)
        (volume,) = holder_body()["spec"]["template"]["spec"]["volumes"]
        refused: tuple[Document, ...] = (
            {"hostPID": True},
            {"volumes": [{"name": volume["name"], "hostPath": {"path": "/"}}]},
            {"automountServiceAccountToken": True},
            {"securityContext": {"runAsNonRoot": False}},
        )
        for change in refused:
            patch = {"spec": {"template": {"spec": change}}}
            with pytest.raises(kube.KubeError, match="must be without privileges"):
                await controller.patch(
                    DAEMON_SETS,
                    holder.NAME,
                    patch,
                    namespace=manifests.NAMESPACE,
                    patch_type=PatchType.MERGE,
                )


PRUNER = StoredImagePruner(metadata=ObjectMeta(name="cluster", uid="uid-of-pruner"))


def pruner_body(**changes: Any) -> Document:
    body = objects.cron_job(
        PRUNER,
        effective.effective({}),
        namespace=manifests.NAMESPACE,
        image="lading",
        prune_registry=True,
        reports_to_map=False,
    )
    body["spec"]["jobTemplate"]["spec"]["template"]["spec"] |= changes
    return body


async def test_the_controller_creates_only_the_cron_job_of_the_pruner() -> None:
    async with installed() as clients:
        controller, namespace = clients["controller"], manifests.NAMESPACE
        refused: tuple[Document, ...] = (
            {"hostNetwork": True},
            {"serviceAccountName": "lading-agent"},
            {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
            {"securityContext": {"runAsNonRoot": False}},
        )
        for change in refused:
            with pytest.raises(kube.KubeError, match="must be without privileges"):
                await controller.create(CRON_JOBS, pruner_body(**change), namespace=namespace)
        other = pruner_body()
        other["metadata"]["name"] = "other"
        with pytest.raises(kube.KubeError, match="must write only CronJob lading-image-pruner"):
            await controller.create(CRON_JOBS, other, namespace=namespace)
        await controller.create(CRON_JOBS, pruner_body(), namespace=namespace)


async def test_the_controller_gives_rights_to_the_pruner_only() -> None:
    async with installed() as clients:
        controller, namespace = clients["controller"], manifests.NAMESPACE
        body = objects.account(PRUNER, namespace)
        body["metadata"]["name"] = "other"
        with pytest.raises(kube.KubeError, match="only ServiceAccount lading-image-pruner"):
            await controller.create(SERVICE_ACCOUNTS, body, namespace=namespace)
        (binding,) = objects.bindings(PRUNER, namespace, is_openshift=False)
        binding["subjects"] = [{**binding["subjects"][0], "name": "lading-agent"}]
        with pytest.raises(kube.KubeError, match="must bind roles only to ServiceAccount"):
            await controller.create(CLUSTER_ROLE_BINDINGS, binding)


async def test_policies_for_other_names_refuse_the_controller() -> None:
    async with installed() as clients:
        await make_holder_pod(clients["admin"], "holder", "node-a")
        controller, namespace = clients["controller-in-another-namespace"], manifests.NAMESPACE
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await controller.create(DAEMON_SETS, holder_body(), namespace=namespace)
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await controller.delete(PODS, "holder", namespace=namespace)


async def test_the_controller_deletes_only_pods_that_hold_images() -> None:
    async with installed() as clients:
        admin, controller = clients["admin"], clients["controller"]
        await make_holder_pod(admin, "holder", "node-a")
        await make_holder_pod(admin, "agent", "node-a", label="agent")
        with pytest.raises(kube.KubeError, match="only pods that hold images"):
            await controller.delete(PODS, "agent", namespace=manifests.NAMESPACE)
        image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]
        with pytest.raises(kube.KubeError, match="must not change the containers"):
            await controller.patch(
                PODS, "holder", image, namespace=manifests.NAMESPACE, patch_type=PatchType.JSON
            )
        await controller.delete(PODS, "holder", namespace=manifests.NAMESPACE)


async def test_made_for_other_names_the_policies_bind_the_agent_to_its_node() -> None:
    async with installed() as clients:
        catalogue = await discovery.discover(clients["admin"])
        for document in policies.agent_policies(namespace="images", account="lading-agent"):
            await apply(clients["admin"], catalogue, document)
        agent = clients["in-another-namespace"]
        for name in ("node-a", "node-b"):
            await make_machine_config_node(clients["admin"], name)
        await write_status(agent, "node-a")
        await write_event(agent, event())
        with pytest.raises(kube.KubeError, match="must not write"):
            await write_status(agent, "node-b")
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await write_status(clients["agent-of-a"], "node-a")


def test_the_policies_are_those_of_the_names_that_are_installed() -> None:
    (agent,) = (one for one in manifests.base() if one["kind"] == "DaemonSet")
    made = policies.agent_policies(
        namespace=agent["metadata"]["namespace"],
        account=agent["spec"]["template"]["spec"]["serviceAccountName"],
    )
    file = DEPLOY / "base" / "agent-policy.yaml"
    assert file.read_text(encoding="utf-8") == policies.as_yaml(made)
    assert policies.CONTROLLER == wiring_agent.COMPONENT


async def write_as(policy: str, clients: dict[str, KubeClient]) -> None:
    """A write that the policy allows."""
    agent, controller, namespace = (
        clients["agent-of-a"],
        clients["controller"],
        manifests.NAMESPACE,
    )
    match policy:
        case "lading-agent-own-node":
            await write_status(agent, "node-a")
        case "lading-agent-own-events":
            await write_event(agent, event())
        case "lading-agent-own-pods":
            await write_pod(agent, "holder")
        case "lading-controller-daemon-set":
            await controller.create(DAEMON_SETS, holder_body(), namespace=namespace)
        case "lading-controller-pods":
            await controller.delete(PODS, "holder", namespace=namespace)
        case "lading-controller-cron-job":
            await controller.create(CRON_JOBS, pruner_body(), namespace=namespace)
        case "lading-controller-account":
            body = objects.account(PRUNER, namespace)
            await controller.create(SERVICE_ACCOUNTS, body, namespace=namespace)
        case "lading-controller-bindings":
            (body,) = objects.bindings(PRUNER, namespace, is_openshift=False)
            await controller.create(CLUSTER_ROLE_BINDINGS, body)
        case _:
            pytest.fail(f"no write for {policy}")


@pytest.mark.parametrize("cannot_be_evaluated", [False, True], ids=["as it is", "broken"])
@pytest.mark.parametrize(
    "policy",
    [one for one in made_policies() if one["kind"] == "ValidatingAdmissionPolicy"],
    ids=lambda one: one["metadata"]["name"],
)
async def test_a_policy_that_cannot_be_evaluated_refuses(
    policy: Document, cannot_be_evaluated: bool
) -> None:
    async with installed() as clients:
        admin = clients["admin"]
        await make_machine_config_node(admin, "node-a")
        await make_holder_pod(admin, "holder", "node-a")
        broken = copy.deepcopy(policy)
        if cannot_be_evaluated:
            broken["spec"]["validations"].append({"expression": 'int("no number") == 1'})
        await apply(admin, await discovery.discover(admin), broken)
        refused = pytest.raises(kube.KubeError, match="denied request")
        with refused if cannot_be_evaluated else contextlib.nullcontext():
            await write_as(policy["metadata"]["name"], clients)


PRUNER_ROLES = (OBJECT_NAME, OPENSHIFT_ROLE)
"""The controller binds these, and only these, to the account of the pruner."""
USER_ROLES = ("lading-view", "lading-edit", "lading-admin")
"""Kubernetes aggregates them; no account of ours is bound to them."""


def roles() -> list[Document]:
    return [one for one in manifests.base() if one["kind"] in ("Role", "ClusterRole")]


@pytest.mark.parametrize("role", roles(), ids=lambda role: role["metadata"]["name"])
def test_no_role_reads_secrets_reaches_into_pods_or_says_everything(role: Document) -> None:
    for rule in role["rules"]:
        assert not {"nodes/proxy", "pods/exec"} & set(rule["resources"])
        if "secrets" in rule["resources"]:
            is_key = rule.get("resourceNames") == [HOLD_KEY_NAME] and rule["verbs"] == ["get"]
            assert is_key or rule["verbs"] == ["create"], "only the key of pre-pull"
        words = [*rule["verbs"], *rule["apiGroups"]]
        if role["metadata"]["name"] not in PRUNER_ROLES:
            words += rule["resources"]
        elif "*" in rule["resources"]:
            assert set(rule["verbs"]) == {"get", "list", "watch"}, "custom resources are read"
        assert "*" not in words


def writes(component: str) -> set[tuple[str, str, str, str]]:
    """(namespace, resource, verb, name) of everything but reading; "" is all of them."""
    return {
        (role["metadata"].get("namespace", ""), resource, verb, name)
        for role in roles()
        if role["metadata"]["name"].startswith(f"lading-{component}")
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in set(rule["verbs"]) - {"get", "list", "watch"}
        for name in rule.get("resourceNames", ("",))
    }


def test_an_agent_writes_only_its_own_report_and_events() -> None:
    assert writes("agent") == {
        ("", "machineconfignodes", "patch", ""),
        ("", "machineconfignodes/status", "patch", ""),
        (manifests.NAMESPACE, "pods/status", "patch", ""),
        ("default", "events", "create", ""),
        ("default", "events", "patch", ""),
    }


PRE_PULL_WRITES = {
    (manifests.NAMESPACE, "images", "create", ""),
    (manifests.NAMESPACE, "images", "delete", ""),
    (manifests.NAMESPACE, "images/status", "patch", ""),
    (manifests.NAMESPACE, "settings", "create", ""),
    (manifests.NAMESPACE, "secrets", "create", ""),
    (manifests.NAMESPACE, "daemonsets", "create", ""),
    (manifests.NAMESPACE, "daemonsets", "patch", ""),
    (manifests.NAMESPACE, "daemonsets", "delete", ""),
    (manifests.NAMESPACE, "pods", "patch", ""),
    (manifests.NAMESPACE, "pods", "delete", ""),
}


PRUNER_WRITES = {
    ("", "imagepruners", "create", ""),
    ("", "imagepruners/status", "patch", "cluster"),
    ("", "clusterrolebindings", "create", ""),
    *(("", "clusterroles", "bind", name) for name in (*PRUNER_ROLES, SYSTEM_ROLE)),
    *(
        ("", "clusterrolebindings", verb, binding_name(name))
        for name in (*PRUNER_ROLES, SYSTEM_ROLE)
        for verb in ("patch", "delete")
    ),
    *(
        (manifests.NAMESPACE, resource, "create", "")
        for resource in ("cronjobs", "serviceaccounts", "configmaps")
    ),
    *(
        (manifests.NAMESPACE, resource, "patch", OBJECT_NAME)
        for resource in ("cronjobs", "serviceaccounts")
    ),
}


def test_the_controller_writes_only_what_its_features_need_its_lease_and_events() -> None:
    events = {
        (namespace, "events", verb, "")
        for namespace in ("default", manifests.NAMESPACE)
        for verb in ("create", "patch")
    }
    assert writes("controller") == events | PRE_PULL_WRITES | PRUNER_WRITES | {
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


def test_a_pruning_job_changes_image_streams_images_and_its_report_only() -> None:
    report = {
        ("", "imagepruners/status", "patch", "cluster"),
        (manifests.NAMESPACE, "configmaps", "patch", REPORT_NAME),
    }
    assert writes("image-pruner") == report | {
        ("", "images", "delete", ""),
        ("", "imagestreams/status", "update", ""),
    }
    assert writes("image-pruner-openshift") == {("", "imagepruners/status", "patch", "cluster")}


def reads(component: str, *resources: str) -> set[tuple[str, str, str]]:
    """(namespace, resource, name) of what may be read; "" is all of them."""
    return {
        (role["metadata"].get("namespace", ""), resource, name)
        for role in roles()
        if role["metadata"]["name"].startswith(f"lading-{component}")
        for rule in role["rules"]
        if set(rule["verbs"]) & {"get", "list", "watch"}
        for resource in {*rule["resources"]} & {*resources}
        for name in rule.get("resourceNames", ("",))
    }


def test_the_controller_reads_config_maps_and_the_objects_of_the_pruner_by_name() -> None:
    own = manifests.NAMESPACE
    names = (DECISION_NAME, REPORT_NAME)
    assert reads("controller", "configmaps") == {(own, "configmaps", one) for one in names}
    assert reads("controller", "cronjobs", "jobs", "serviceaccounts", "clusterrolebindings") == {
        (own, "cronjobs", OBJECT_NAME),
        (own, "jobs", ""),
        (own, "serviceaccounts", OBJECT_NAME),
        *(("", "clusterrolebindings", binding_name(one)) for one in (*PRUNER_ROLES, SYSTEM_ROLE)),
    }


def test_a_pruning_job_reads_workloads_but_neither_config_maps_nor_accounts() -> None:
    hidden = ("configmaps", "serviceaccounts", "clusterrolebindings", "imagepruners", "nodes")
    assert reads("image-pruner", *hidden) == set()
    assert reads("image-pruner", "namespaces") == {("", "namespaces", "kube-system")}


def test_every_role_is_bound_to_the_account_it_is_named_after() -> None:
    bindings = [one for one in manifests.base() if one["kind"].endswith("Binding")]
    bound = [one for one in bindings if "roleRef" in one]
    static = [
        one["metadata"]
        for one in roles()
        if one["metadata"]["name"] not in USER_ROLES
        and (one["kind"] == "Role" or one["metadata"]["name"] not in PRUNER_ROLES)
    ]
    assert [one["metadata"] for one in bound] == static
    for binding in bound:
        assert binding["roleRef"]["name"] == binding["metadata"]["name"]
        (account,) = binding["subjects"]
        assert account["namespace"] == manifests.NAMESPACE
        where = binding["metadata"].get("namespace", manifests.NAMESPACE)
        suffix = "" if where == manifests.NAMESPACE else f"-{where}"
        assert binding["metadata"]["name"] == account["name"] + suffix


def test_no_two_roles_have_one_name_when_a_kustomization_moves_them_into_one_namespace() -> None:
    named = [(one["kind"], one["metadata"]["name"]) for one in roles()]
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("folder", ["", "base", *manifests.OVERLAYS])
def test_a_kustomization_names_every_file_beside_it(folder: str) -> None:
    listed = manifests.kustomization(folder)
    named = {*listed["resources"], *(one["path"] for one in listed.get("patches", ()))}
    here = DEPLOY / folder
    beside = {one.name for one in here.glob("*.yaml")} - {manifests.KUSTOMIZATION}
    generated = {f"crds/{one.name}" for one in (here / "crds").glob("*.yaml")}
    assert beside | generated <= named
    assert all((here / Path(name)).exists() for name in named)
