"""Roles, bindings, events and nodes: what is refused, and what a server completes."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import NODES, Api, Document, resource
from tests.conformance.kube.kinds import CLUSTER_ROLES, EVENTS, RBAC, ROLE_BINDINGS, ROLES

CLUSTER_ROLE_BINDINGS = resource(
    "clusterrolebindings", "ClusterRoleBinding", group=RBAC, namespaced=False
)
PATHS = {"verbs": ["get"], "nonResourceURLs": ["/x"]}


def bound(name: str, *subjects: Document, group: str = RBAC) -> Document:
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "r"}
    return {"metadata": {"name": name}, "roleRef": role, "subjects": list(subjects)}


async def test_an_account_beside_its_binding_needs_no_namespace(api: Api, namespace: str) -> None:
    body = bound("one", {"kind": "ServiceAccount", "name": "s"})
    created = await api.client.create(ROLE_BINDINGS, body, namespace=namespace)
    assert created["subjects"] == [{"kind": "ServiceAccount", "name": "s"}]


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ({"kind": "ServiceAccount", "name": "s"}, "subjects[0].namespace: Required value"),
        (
            {"kind": "ServiceAccount", "name": "A_B", "namespace": "n"},
            'subjects[0].name: Invalid value: "A_B"',
        ),
        (
            {"kind": "User", "name": "u", "apiGroup": "x"},
            'subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.auth',
        ),
    ],
)
async def test_a_binding_without_a_subject_is_refused(
    api: Api, unique: str, subject: Document, problem: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(CLUSTER_ROLE_BINDINGS, bound(unique, subject))
    assert problem in caught.value.message


async def test_a_binding_names_a_role_of_its_own_group(api: Api, unique: str) -> None:
    with pytest.raises(kube.Invalid, match=r'roleRef\.apiGroup: Unsupported value: "x"'):
        await api.client.create(CLUSTER_ROLE_BINDINGS, bound(unique, group="x"))


async def test_a_rule_is_about_objects_or_about_paths(
    api: Api, namespace: str, unique: str
) -> None:
    both = {**PATHS, "apiGroups": [""], "resources": ["pods"]}
    with pytest.raises(kube.Invalid, match="rules cannot apply to both regular resources and non"):
        await api.client.create(CLUSTER_ROLES, {"metadata": {"name": unique}, "rules": [both]})
    body = {"metadata": {"name": unique}, "rules": [PATHS]}
    with pytest.raises(kube.Invalid, match="namespaced rules cannot apply to non-resource URLs"):
        await api.client.create(ROLES, body, namespace=namespace)


def event(namespace: str, **more: object) -> Document:
    return {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "reportingController": "conformance.lading.example/test",
        "reportingInstance": "one",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "regarding": {"kind": "ConfigMap", "name": "one", "namespace": namespace},
        **more,
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"eventTime": None}, "eventTime: Required value"),
        ({"type": "Good"}, "has invalid value: Good"),
        ({"action": ""}, "action: Required value"),
        ({"reason": ""}, "reason: Required value"),
        ({"reason": "x" * 129}, "can have at most 128 characters"),
        ({"reportingInstance": ""}, "reportingInstance: Required value"),
        ({"reportingController": ""}, "reportingController: Required value"),
        ({"reportingController": "a b"}, "name part must consist of"),
        ({"note": "x" * 1025}, "can have at most 1024 characters"),
        (
            {"series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000001Z"}},
            "series.count: Invalid value",
        ),
        ({"regarding": {"kind": "Node", "name": "n"}}, "does not match event.namespace"),
    ],
)
async def test_an_event_that_says_too_little_or_too_much_is_refused(
    api: Api, namespace: str, change: Document, problem: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(EVENTS, event(namespace, **change), namespace=namespace)
    assert problem in caught.value.message


async def test_an_event_becomes_a_series(api: Api, namespace: str) -> None:
    await api.client.create(EVENTS, event(namespace), namespace=namespace)
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000001Z"}
    patched = await api.client.patch(EVENTS, "e", {"series": series}, namespace=namespace)
    assert patched["series"] == series


@pytest.mark.parametrize(
    ("taints", "problem"),
    [
        ([{"key": "a b", "effect": "NoSchedule"}], 'metadata.taints[0].key: Invalid value: "a b"'),
        ([{"key": "a"}], "metadata.taints[0].effect: Required value"),
        ([{"key": "a", "effect": "NoSchedule"}] * 2, "taints must be unique by key and effect"),
    ],
)
async def test_a_taint_that_means_nothing_is_refused(
    api: Api, unique: str, taints: list[Document], problem: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(NODES, {"metadata": {"name": unique}, "spec": {"taints": taints}})
    assert problem in caught.value.message


async def test_what_a_node_has_can_be_given_to_pods(api: Api, unique: str) -> None:
    await api.client.create(NODES, {"metadata": {"name": unique}})
    patch = {"status": {"capacity": {"cpu": "4", "ephemeral-storage": "100Gi"}}}
    patched = await api.client.patch(NODES, unique, patch, subresource="status")
    assert patched["status"]["allocatable"] == patch["status"]["capacity"]
    await api.client.delete(NODES, unique)
