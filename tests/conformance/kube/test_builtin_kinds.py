"""The built-in kinds that Lading uses: what a server fills in, and what it refuses."""

import base64

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    DAEMON_SETS,
    NODES,
    PODS,
    SECRETS,
    Api,
    Document,
    config_map,
    resource,
)
from tests.conformance.kube.kinds import (
    CLUSTER_ROLES,
    CORE_EVENTS,
    EVENTS,
    RBAC,
    ROLE_BINDINGS,
    ROLES,
    RUNTIME_CLASSES,
)
from tests.conformance.kube.workloads import daemon_set

SERVICE_ACCOUNTS = resource("serviceaccounts", "ServiceAccount")
LEASES = resource("leases", "Lease", group="coordination.k8s.io")


async def test_a_secret_takes_text_and_keeps_base64(api: Api, namespace: str) -> None:
    body = {"metadata": {"name": "s"}, "stringData": {"a": "text"}, "data": {"b": "AAEC"}}
    created = await api.client.create(SECRETS, body, namespace=namespace)
    assert created["type"] == "Opaque"
    assert created["data"] == {"a": base64.b64encode(b"text").decode(), "b": "AAEC"}
    assert "stringData" not in created


async def test_a_secret_that_is_no_base64_is_refused_without_showing_it(
    api: Api, namespace: str
) -> None:
    body = {"metadata": {"name": "s"}, "data": {"a": "%hidden%"}}
    with pytest.raises(kube.Invalid, match="illegal base64 data") as caught:
        await api.client.create(SECRETS, body, namespace=namespace)
    assert "hidden" not in caught.value.message


async def test_a_pod_gets_its_defaults(api: Api, namespace: str) -> None:
    container = {"name": "c", "image": "example.com/app:1"}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    created = await api.client.create(PODS, body, namespace=namespace)
    spec = created["spec"]
    assert (spec["restartPolicy"], spec["dnsPolicy"]) == ("Always", "ClusterFirst")
    assert (spec["schedulerName"], spec["terminationGracePeriodSeconds"]) == (
        "default-scheduler",
        30,
    )
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert spec["containers"][0]["terminationMessagePath"] == "/dev/termination-log"
    assert created["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("image", "policy"), [("app", "Always"), ("app:latest", "Always"), ("app:1", "IfNotPresent")]
)
async def test_the_tag_decides_when_an_image_is_pulled(
    api: Api, namespace: str, image: str, policy: str
) -> None:
    spec = {"containers": [{"name": "c", "image": image}]}
    created = await api.client.create(
        PODS, {"metadata": {"name": "p"}, "spec": spec}, namespace=namespace
    )
    assert created["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"image": "i"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "c"}]}, "spec.containers[0].image"),
    ],
)
async def test_a_pod_needs_containers_with_names_and_images(
    api: Api, namespace: str, spec: Document, field: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(
            PODS, {"metadata": {"name": "p"}, "spec": spec}, namespace=namespace
        )
    cause = caught.value.causes[0]
    assert (cause.field, cause.reason) == (field, "FieldValueRequired")


async def test_a_daemon_set_gets_its_defaults(api: Api, namespace: str) -> None:
    created = await api.client.create(DAEMON_SETS, daemon_set(), namespace=namespace)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    assert created["spec"]["updateStrategy"] == strategy
    assert created["spec"]["revisionHistoryLimit"] == 10
    assert created["spec"]["template"]["spec"]["restartPolicy"] == "Always"


async def test_a_daemon_set_must_select_its_own_pods(api: Api, namespace: str) -> None:
    body = daemon_set()
    body["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    with pytest.raises(kube.Invalid, match="`selector` does not match template `labels`"):
        await api.client.create(DAEMON_SETS, body, namespace=namespace)


async def test_an_immutable_config_map_stays_as_it_is(api: Api, namespace: str) -> None:
    body = {**config_map(a="1"), "immutable": True}
    await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    with pytest.raises(kube.Invalid, match="field is immutable when `immutable` is set"):
        await api.client.patch(CONFIG_MAPS, "one", {"data": {"a": "2"}}, namespace=namespace)


async def test_a_lease_keeps_microseconds(api: Api, namespace: str) -> None:
    spec = {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T00:00:00.123456Z",
    }
    created = await api.client.create(
        LEASES, {"metadata": {"name": "l"}, "spec": spec}, namespace=namespace
    )
    assert created["spec"] == spec


async def test_an_event_is_seen_in_both_groups(api: Api, namespace: str) -> None:
    event = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "reportingController": "conformance.lading.example/test",
        "reportingInstance": "one",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "note": "all is well",
        "regarding": {"kind": "ConfigMap", "name": "one", "namespace": namespace},
    }
    await api.client.create(EVENTS, event, namespace=namespace)
    found = await api.client.get(CORE_EVENTS, "e", namespace=namespace)
    assert (found["message"], found["involvedObject"]["name"]) == ("all is well", "one")
    assert found["reportingComponent"] == "conformance.lading.example/test"
    selection = kube.Selection(
        namespace=namespace, field_selector="involvedObject.name=one,reason=Tested"
    )
    assert len((await api.client.page(CORE_EVENTS, selection)).items) == 1


async def test_a_runtime_class_names_its_handler_for_ever(api: Api, unique: str) -> None:
    body = {"metadata": {"name": unique}, "handler": "kata"}
    assert (await api.client.create(RUNTIME_CLASSES, body))["handler"] == "kata"
    with pytest.raises(kube.Invalid, match="handler: Invalid value"):
        await api.client.patch(RUNTIME_CLASSES, unique, {"handler": "runc"})
    await api.client.delete(RUNTIME_CLASSES, unique)


async def test_a_node_has_a_status_of_its_own(api: Api, unique: str) -> None:
    await api.client.create(NODES, {"metadata": {"name": unique}})
    images = [{"names": ["example.com/app:1"], "sizeBytes": 5}]
    patch = {"status": {"images": images}}
    patched = await api.client.patch(NODES, unique, patch, subresource="status")
    assert patched["status"]["images"] == images
    await api.client.delete(NODES, unique)


async def test_roles_and_accounts_are_kept(api: Api, namespace: str, unique: str) -> None:
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    await api.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "agent"}}, namespace=namespace)
    for kind in (ROLES, CLUSTER_ROLES):
        where = namespace if kind.namespaced else ""
        body = {"metadata": {"name": unique}, "rules": [rule]}
        assert (await api.client.create(kind, body, namespace=where))["rules"] == [rule]
    binding = {
        "metadata": {"name": unique},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": unique},
        "subjects": [{"kind": "ServiceAccount", "name": "agent", "namespace": namespace}],
    }
    created = await api.client.create(ROLE_BINDINGS, binding, namespace=namespace)
    assert (created["roleRef"], created["subjects"]) == (binding["roleRef"], binding["subjects"])
    await api.client.delete(CLUSTER_ROLES, unique)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1000m", "1"),
        (0.5, "500m"),
        (2, "2"),
        ("1e3", "1e3"),
    ],
)
async def test_a_quantity_has_one_spelling(
    api: Api, namespace: str, given: object, kept: str
) -> None:
    resources = {"requests": {"memory": given}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    body = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    created = await api.client.create(PODS, body, namespace=namespace)
    assert created["spec"]["containers"][0]["resources"]["requests"] == {"memory": kept}


async def test_a_new_pod_is_completed_by_admission(api: Api, namespace: str) -> None:
    amounts = {"cpu": "1", "memory": "1Gi"}
    containers = [{"name": "c", "image": "i", "resources": {"limits": amounts}}]
    body = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    created = await api.client.create(PODS, body, namespace=namespace)
    assert created["spec"]["containers"][0]["resources"]["requests"] == amounts
    assert created["status"]["qosClass"] == "Guaranteed"
    keys = {each["key"] for each in created["spec"]["tolerations"]}
    assert keys == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    (entry,) = created["metadata"]["managedFields"]
    owned = entry["fieldsV1"]["f:spec"]
    assert not owned.keys() & {"f:tolerations", "f:priority", "f:serviceAccountName"}
