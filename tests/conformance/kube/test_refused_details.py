"""Requests that look harmless and must not succeed, or not have the effect they ask for."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    WIDGETS,
    Api,
    Document,
    config_map,
    exists,
    resource,
    widget,
)

LEASES = resource("leases", "Lease", group="coordination.k8s.io")


def kind_of(body: Document) -> str:
    return str(body["kind"])


def pod(**spec: object) -> Document:
    containers = [{"name": "c", "image": "example.com/app:1"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


async def test_force_belongs_to_an_apply(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    answer = await api.call(
        "PATCH",
        CONFIG_MAPS.path(namespace=namespace, name="one"),
        {"data": {}},
        query={"force": "true"},
        headers={"content-type": "application/merge-patch+json"},
    )
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert "force: Forbidden: may not be specified for non-apply patch" in message


async def test_a_quantity_must_be_one(api: Api, namespace: str) -> None:
    resources = {"requests": {"cpu": "1x"}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    with pytest.raises(kube.Invalid, match="quantities must match the regular expression"):
        await api.client.create(PODS, pod(containers=containers), namespace=namespace)


async def test_a_pod_stays_on_its_node(api: Api, namespace: str) -> None:
    await api.client.create(PODS, pod(nodeName="n-1"), namespace=namespace)
    with pytest.raises(kube.Invalid, match="pod updates may not change fields other than"):
        await api.client.patch(PODS, "p", {"spec": {"nodeName": "n-2"}}, namespace=namespace)


async def test_a_pod_names_a_runtime_class_that_is_there(api: Api, namespace: str) -> None:
    with pytest.raises(kube.Forbidden, match='pod rejected: RuntimeClass "absent" not found'):
        await api.client.create(PODS, pod(runtimeClassName="absent"), namespace=namespace)


async def test_a_time_limit_must_be_a_number(api: Api, namespace: str) -> None:
    path = WIDGETS.path(namespace=namespace)
    answer = await api.call("GET", path, query={"timeoutSeconds": "soon"})
    assert answer.refusal[:2] == (400, "BadRequest")


async def test_the_finalizers_of_a_namespace_are_not_the_users(api: Api, namespace: str) -> None:
    patched = await api.client.patch(NAMESPACES, namespace, {"spec": {"finalizers": []}})
    assert patched["spec"]["finalizers"] == ["kubernetes"]


async def refuse_renewal(api: Api, namespace: str, time: str) -> None:
    body = {"metadata": {"name": "l"}, "spec": {"renewTime": time}}
    with pytest.raises(kube.Invalid, match=r'in version "v1" cannot be handled as a Lease'):
        await api.client.create(LEASES, body, namespace=namespace)


async def test_a_lease_time_that_is_no_time_is_refused(api: Api, namespace: str) -> None:
    await refuse_renewal(api, namespace, "yesterday")


async def test_a_lease_time_without_microseconds_is_refused(api: Api, namespace: str) -> None:
    await refuse_renewal(api, namespace, "2026-01-01T00:00:00Z")


async def test_a_patch_cannot_give_another_uid(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    with pytest.raises(kube.Invalid, match=r"metadata\.uid: Invalid value: .*field is immutable"):
        await api.client.patch(
            CONFIG_MAPS, "one", {"metadata": {"uid": "other"}}, namespace=namespace
        )


async def test_a_deletion_says_once_what_becomes_of_dependents(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    options = {"orphanDependents": False, "propagationPolicy": "Background"}
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    code, reason, message = (await api.call("DELETE", path, options)).refusal
    assert (code, reason) == (422, "Invalid")
    assert "orphanDependents and deletionPropagation cannot be both set" in message


@pytest.mark.parametrize(
    "options",
    [
        {"gracePeriodSeconds": "soon"},
        {"preconditions": "none"},
        {"preconditions": {"uid": 7}},
        {"propagationPolicy": 7},
        {"dryRun": "All"},
        {"orphanDependents": "yes"},
        {"kind": "Status"},
        [],
    ],
)
async def test_a_deletion_that_cannot_be_read_deletes_nothing(
    api: Api, namespace: str, options: object
) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    assert (await api.call("DELETE", path, options)).refusal[:2] == (400, "BadRequest")
    assert await exists(api, CONFIG_MAPS, "one", namespace)


async def test_the_time_that_a_deletion_may_take_is_a_number(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answer = await api.call("DELETE", path, query={"gracePeriodSeconds": "soon"})
    assert answer.refusal[:2] == (400, "BadRequest")
    assert await exists(api, CONFIG_MAPS, "one", namespace)


@pytest.mark.parametrize("body", [config_map(a="1"), widget(size=2)], ids=kind_of)
@pytest.mark.parametrize(
    ("method", "content_type", "metadata"),
    [("PUT", "application/json", {}), ("PATCH", "application/merge-patch+json", None)],
)
async def test_a_body_without_a_name_changes_nothing(
    api: Api, namespace: str, body: Document, method: str, content_type: str, metadata: object
) -> None:
    kind = CONFIG_MAPS if body["kind"] == "ConfigMap" else WIDGETS
    created = await api.client.create(kind, body, namespace=namespace)
    answer = await api.call(
        method,
        kind.path(namespace=namespace, name="one"),
        {**body, "metadata": metadata},
        headers={"content-type": content_type},
    )
    code, reason, message = answer.refusal
    assert (code, reason) == (400, "BadRequest")
    assert "name must be provided" in message
    assert await api.client.get(kind, "one", namespace=namespace) == created


async def test_an_apply_without_a_name_creates_nothing(api: Api, namespace: str) -> None:
    answer = await api.call(
        "PATCH",
        CONFIG_MAPS.path(namespace=namespace, name="one"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "one"}},
        query={"fieldManager": "conformance"},
        headers={"content-type": "application/apply-patch+yaml"},
    )
    assert answer.refusal[:2] == (400, "BadRequest")
    assert not await exists(api, CONFIG_MAPS, "one", namespace)


async def test_a_list_has_no_initial_events(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("GET", path, query={"sendInitialEvents": "true"})
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list" in message


async def test_a_subresource_that_a_kind_does_not_have_is_not_found(
    api: Api, namespace: str
) -> None:
    path = f"{WIDGETS.path(namespace=namespace, name='one')}/scale"
    code, reason, message = (await api.call("GET", path)).refusal
    assert (code, reason) == (404, "NotFound")
    assert message == 'widgets.conformance.lading.example "one" not found'


async def test_a_name_that_is_too_long_or_dotted_is_refused(api: Api, unique: str) -> None:
    for name, why in {
        unique + "a" * 63: "must be no more than 63 characters",
        f"{unique}.more": "must not contain dots",
        "Not.Good": "a lowercase RFC 1123 label must consist of",
    }.items():
        with pytest.raises(kube.Invalid, match=why):
            await api.client.create(NAMESPACES, {"metadata": {"name": name}})
