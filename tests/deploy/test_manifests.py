"""The manifests on the embedded API server: accepted to the letter, and no right too many."""

import copy
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.api.core import EVENTS, PODS
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.installation import agent_policies, policies
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.kube import PatchType
from lading.prepull.types import HOLD_KEY_NAME
from lading.pruning.operator.objects import binding_name
from lading.pruning.operator.types import (
    DECISION_NAME,
    OBJECT_NAME,
    OPENSHIFT_ROLE,
    REPORT_NAME,
    SYSTEM_ROLE,
)
from lading.wiring import agent as wiring_agent
from tests.deploy import embedded, escapes, manifests
from tests.deploy.escapes import Attacker
from tests.deploy.manifests import DEPLOY, OVERLAYS, SHARED, Document, overlay

OWNER = {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "1"}
STALE = ("in-another-namespace", "with-a-prefix")


@pytest.mark.parametrize("overlay", manifests.OVERLAYS)
async def test_everything_is_accepted_with_strict_validation(overlay: str) -> None:
    async with embedded.installed() as clients:
        catalogue = await discovery.discover(clients["admin"])
        for document in manifests.overlay(overlay):
            patched = await clients["admin"].patch(
                catalogue.of_kind(document["apiVersion"], document["kind"]),
                document["metadata"]["name"],
                document,
                namespace=manifests.AGENT_NAMESPACE,
                patch_type=PatchType.STRATEGIC,
                field_validation=embedded.STRICT,
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
    async with embedded.installed() as clients:
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
    async with embedded.installed() as clients:
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
    async with embedded.installed() as clients:
        await make_machine_config_node(clients["admin"], "node-a")
        with pytest.raises(kube.KubeError, match="must change only the status"):
            await change_node(clients["agent-of-a"], "node-a", **changes)
        await change_node(clients["admin"], "node-a", **changes)


async def test_an_agent_neither_makes_nor_deletes_its_machine_config_node() -> None:
    async with embedded.installed() as clients:
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
    async with embedded.installed() as clients:
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
    async with embedded.installed() as clients:
        with pytest.raises(kube.KubeError, match=words):
            await write_event(clients["agent-of-a"], body)


async def test_an_agent_changes_and_deletes_no_event_of_another() -> None:
    async with embedded.installed() as clients:
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
    async with embedded.installed() as clients:
        await make_machine_config_node(clients["admin"], "node-a")
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await write_status(clients[identity], "node-a")
        with pytest.raises(kube.KubeError, match="this policy was made for"):
            await write_event(clients[identity], event())


async def test_the_policies_concern_agents_only() -> None:
    async with embedded.installed() as clients:
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
    async with embedded.installed() as clients:
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


def test_with_the_class_of_the_manifests_holder_pods_push_no_other_pod_out() -> None:
    (found,) = (one for one in manifests.base() if one["kind"] == "PriorityClass")
    assert found["metadata"]["name"] == "lading-prepull"
    assert found["preemptionPolicy"] == "Never"
    assert not found.get("globalDefault")


async def test_policies_for_other_names_refuse_the_controller() -> None:
    async with embedded.installed() as clients:
        await escapes.prepare(clients["admin"], escapes.BASE_IMAGE)
        stranger = Attacker(
            controller=clients["controller-in-another-namespace"], own_image=escapes.BASE_IMAGE
        )
        for one in escapes.OWN_WRITES:
            assert "this policy was made for" in await escapes.refusal(one.write, stranger)


async def test_made_for_other_names_the_policies_bind_the_agent_to_its_node() -> None:
    async with embedded.installed() as clients:
        catalogue = await discovery.discover(clients["admin"])
        for document in agent_policies.agent_policies(namespace="images", account="lading-agent"):
            await embedded.apply(clients["admin"], catalogue, document)
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
    made = agent_policies.agent_policies(
        namespace=agent["metadata"]["namespace"],
        account=agent["spec"]["template"]["spec"]["serviceAccountName"],
    )
    file = SHARED / "base" / "agent-policy.yaml"
    assert file.read_text(encoding="utf-8") == policies.as_yaml(made)
    assert agent_policies.CONTROLLER == wiring_agent.COMPONENT


WRITE_OF = {
    "lading-controller-names": "the account of the pruner",
    "lading-controller-daemon-set": "holders with every option",
    "lading-controller-cron-job": "a CronJob with every option",
    "lading-controller-cron-job-sources": "a CronJob without registries",
    "lading-controller-image-pruner": "the first ImagePruner",
    "lading-controller-pods": "the deletion of a holder pod",
    "lading-controller-secrets": "the key of the holders' folders",
    "lading-controller-managed-stubs": "the content of a managed stub",
    "lading-controller-bindings": "the roles of the pruner for its account",
    "lading-controller-accounts": "the account of the pruner",
}


async def write_as(policy: str, clients: dict[str, KubeClient]) -> None:
    """A write that the policy allows."""
    agent = clients["agent-of-a"]
    match policy:
        case "lading-agent-own-node":
            await write_status(agent, "node-a")
        case "lading-agent-own-events":
            await write_event(agent, event())
        case "lading-agent-own-pods":
            await write_pod(agent, "on-node-a")
        case _:
            controller = Attacker(controller=clients["controller"], own_image=escapes.BASE_IMAGE)
            (own,) = (one for one in escapes.OWN_WRITES if one.sentence == WRITE_OF[policy])
            await own.write(controller)


async def test_a_policy_that_cannot_be_evaluated_refuses() -> None:
    """Also what it accepts otherwise, as other tests show."""
    async with embedded.installed() as clients:
        admin = clients["admin"]
        await make_machine_config_node(admin, "node-a")
        await make_holder_pod(admin, "on-node-a", "node-a")
        await escapes.prepare(admin, escapes.BASE_IMAGE)
        catalogue = await discovery.discover(admin)
        for policy in embedded.made_policies():
            name = policy["metadata"]["name"]
            is_served = name != "lading-controller-cloned-templates"  # not embedded
            if policy["kind"] == "ValidatingAdmissionPolicy" and is_served:
                broken = copy.deepcopy(policy)
                broken["spec"]["validations"].append({"expression": 'int("no number") == 1'})
                await embedded.apply(admin, catalogue, broken)
                with pytest.raises(kube.KubeError, match=f"'{name}'.* denied request"):
                    await write_as(name, clients)
                await embedded.apply(admin, catalogue, policy)


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
        is_agent = account["name"] == "lading-agent"
        own = manifests.AGENT_NAMESPACE if is_agent else manifests.NAMESPACE
        assert account["namespace"] == own
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
