"""Label and field selectors in lists, and what a user sees of a bad one."""

import pytest
import pytest_asyncio

from lading.ports.kube import Selection
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    NODES,
    PODS,
    WIDGETS,
    Api,
    Document,
    config_map,
)
from tests.conformance.kube.kinds import CORE_EVENTS, EVENTS

LABELS = {
    "a": {"tier": "front", "zone": "x"},
    "b": {"tier": "back", "zone": "x"},
    "c": {"tier": "back", "zone": ""},
    "d": {"example.com/owner": "me"},
}


@pytest_asyncio.fixture(loop_scope="session")
async def four(api: Api, namespace: str) -> str:
    for name, labels in LABELS.items():
        body = config_map(name)
        body["metadata"]["labels"] = labels
        await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    return namespace


async def names(api: Api, selection: Selection) -> str:
    """The names of ours, in one word; a real cluster puts a ConfigMap of its own beside them."""
    page = await api.client.page(CONFIG_MAPS, selection)
    return "".join(
        item["metadata"]["name"] for item in page.items if len(item["metadata"]["name"]) == 1
    )


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=back", "bc"),
        ("tier==back", "bc"),
        ("tier!=back", "ad"),
        ("tier=back,zone=x", "b"),
        ("tier in (front, back)", "abc"),
        ("tier notin (front)", "bcd"),
        ("zone", "abc"),
        ("!zone", "d"),
        ("zone=", "c"),
        ("zone in (,x)", "abc"),
        ("example.com/owner=me", "d"),
        ("absent", ""),
    ],
)
async def test_labels_select(api: Api, four: str, selector: str, expected: str) -> None:
    assert await names(api, Selection(namespace=four, label_selector=selector)) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=b", "b"),
        ("metadata.name==b", "b"),
        ("metadata.name!=b", "acd"),
        ("metadata.name=b,metadata.name=c", ""),
        ("metadata.namespace=elsewhere", ""),
    ],
)
async def test_fields_select(api: Api, four: str, selector: str, expected: str) -> None:
    assert await names(api, Selection(namespace=four, field_selector=selector)) == expected


@pytest.mark.parametrize("selector", ["a in b", "a=b,,c", "-a=b", "a=b c", "a in (b", "=b"])
async def test_a_bad_label_selector_is_refused(api: Api, namespace: str, selector: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("GET", path, query={"labelSelector": selector})
    assert answer.refusal[:2] == (400, "BadRequest")


async def test_a_bad_field_selector_is_explained(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("GET", path, query={"fieldSelector": "data.a=b"})
    message = '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert answer.refusal == (400, "BadRequest", message)
    answer = await api.call("GET", path, query={"fieldSelector": "metadata.name"})
    assert answer.refusal[:2] == (400, "BadRequest")
    assert (
        "invalid selector: 'metadata.name'; can't understand 'metadata.name'" in answer.refusal[2]
    )


async def test_a_custom_kind_knows_names_and_namespaces_only(api: Api, namespace: str) -> None:
    path = WIDGETS.path(namespace=namespace)
    answer = await api.call("GET", path, query={"fieldSelector": "spec.size=1"})
    code, reason, message = answer.refusal
    assert (code, reason) == (400, "BadRequest")
    assert message.endswith("field label not supported: spec.size")


@pytest.mark.parametrize("selector", [" metadata.name=a", "metadata.name =a"])
async def test_a_space_is_part_of_a_field(api: Api, namespace: str, selector: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("GET", path, query={"fieldSelector": selector})
    assert answer.refusal[:2] == (400, "BadRequest")


async def test_events_are_selected_by_what_they_are_about(api: Api, namespace: str) -> None:
    for name in ("a", "b"):
        about = {"kind": "ConfigMap", "name": name, "namespace": namespace}
        event = {"metadata": {"name": name}, "involvedObject": about, "reason": "Tested"}
        await api.client.create(CORE_EVENTS, event, namespace=namespace)
    for kind, selector in ((EVENTS, "regarding.name=b"), (CORE_EVENTS, "involvedObject.name=b")):
        selection = Selection(namespace=namespace, field_selector=f"{selector},reason=Tested")
        page = await api.client.page(kind, selection)
        assert [item["metadata"]["name"] for item in page.items] == ["b"]


async def test_a_node_has_no_namespace_to_select_by(api: Api) -> None:
    answer = await api.call("GET", NODES.path(), query={"fieldSelector": "metadata.namespace=a"})
    assert answer.refusal[:2] == (400, "BadRequest")


def pod(name: str, node: str) -> Document:
    spec: Document = {"containers": [{"name": "c", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.nodeName=n-1", ["p-1"]),
        ("spec.nodeName=", ["p-0"]),
        ("spec.nodeName!=n-1", ["p-0", "p-2"]),
        ("status.phase=Pending", ["p-0", "p-1", "p-2"]),
        ("status.phase=Running", []),
        ("spec.nodeName=n-2,status.phase!=Failed", ["p-2"]),
        ("spec.hostNetwork=false", ["p-0", "p-1", "p-2"]),
        ("spec.hostNetwork=true", []),
    ],
)
async def test_pods_are_selected_by_node_and_phase(
    api: Api, namespace: str, selector: str, expected: list[str]
) -> None:
    for name, node in (("p-0", ""), ("p-1", "n-1"), ("p-2", "n-2")):
        await api.client.create(PODS, pod(name, node), namespace=namespace)
    selection = Selection(namespace=namespace, field_selector=selector)
    page = await api.client.page(PODS, selection)
    assert [item["metadata"]["name"] for item in page.items] == expected
