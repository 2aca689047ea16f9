"""How a client finds out what there is: discovery, schemas, tables, versions, health."""

import asyncio

import pytest

from lading.adapters.kube import discovery
from lading.ports import kube
from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, config_map, eventually, widget

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("text", "plural", "group"),
    [
        ("configmaps", "configmaps", ""),
        ("configmap", "configmaps", ""),
        ("ConfigMap", "configmaps", ""),
        ("cm", "configmaps", ""),
        ("ds", "daemonsets", "apps"),
        ("daemonsets.apps", "daemonsets", "apps"),
        ("daemonsets.v1.apps", "daemonsets", "apps"),
        ("leases", "leases", "coordination.k8s.io"),
        ("wd", "widgets", "conformance.lading.example"),
        ("crd", "customresourcedefinitions", "apiextensions.k8s.io"),
    ],
)
async def test_a_kind_is_found_by_any_of_its_names(
    api: Api, text: str, plural: str, group: str
) -> None:
    found = (await discovery.discover(api.client)).named(text)
    assert (found.plural, found.group) == (plural, group)


async def test_a_kind_is_found_by_its_manifest(api: Api) -> None:
    catalogue = await discovery.discover(api.client)
    assert catalogue.of_kind(WIDGETS.api_version, "Widget") == WIDGETS
    with pytest.raises(kube.NotFound, match='no matches for kind "Gizmo" in version "v1"'):
        catalogue.of_kind("v1", "Gizmo")
    with pytest.raises(kube.NotFound, match='have a resource type "gizmos"'):
        catalogue.named("gizmos")


async def test_groups_are_aggregated_for_who_asks(api: Api) -> None:
    answer = await api.call("GET", "/apis", headers={"accept": AGGREGATED})
    assert answer.headers["content-type"].replace(" ", "") == AGGREGATED
    assert answer.body["kind"] == "APIGroupDiscoveryList"
    groups = {item["metadata"]["name"]: item for item in answer.body["items"]}
    versions = groups[WIDGETS.group]["versions"]
    assert [version["version"] for version in versions] == ["v1", "v1beta1"]
    (found,) = [entry for entry in versions[0]["resources"] if entry["resource"] == "widgets"]
    assert found["scope"] == "Namespaced"
    assert found["singularResource"] == "widget"
    assert found["shortNames"] == ["wd"]
    assert found["categories"] == ["conformance"]
    assert set(found["verbs"]) >= {"create", "delete", "get", "list", "patch", "update", "watch"}
    assert [entry["subresource"] for entry in found["subresources"]] == ["status"]


async def test_schemas_are_published(api: Api) -> None:
    async def widgets_are_published() -> bool:
        index = (await api.call("GET", "/openapi/v3")).body
        return f"apis/{WIDGETS.api_version}" in index["paths"]

    await eventually(widgets_are_published)
    answer = await api.call("GET", f"/openapi/v3/apis/{WIDGETS.api_version}")
    schemas = answer.body["components"]["schemas"]
    (widgets,) = [schema for name, schema in schemas.items() if name.endswith(".Widget")]
    size = widgets["properties"]["spec"]["properties"]["size"]
    assert (size["type"], size["default"]) == ("integer", 1)
    core = (await api.call("GET", "/openapi/v3/api/v1")).body
    assert "io.k8s.api.core.v1.ConfigMap" in core["components"]["schemas"]


async def test_a_table_has_the_columns_of_the_definition(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(size=7), namespace=namespace)
    path = WIDGETS.path(namespace=namespace)
    table = (await api.call("GET", path, headers={"accept": TABLE})).body
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    columns = [(column["name"], column["priority"]) for column in table["columnDefinitions"]]
    descriptions = {column["name"]: column["description"] for column in table["columnDefinitions"]}
    assert descriptions["Size"] == "How big it is."
    assert columns == [("Name", 0), ("Size", 0), ("Colour", 1), ("Age", 0)]
    (row,) = table["rows"]
    assert row["cells"][:2] == ["one", 7]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "one"


async def test_a_table_of_a_built_in_kind_is_the_one_that_users_know(
    api: Api, namespace: str
) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1", b="2"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    table = (await api.call("GET", path, headers={"accept": TABLE})).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    (row,) = table["rows"]
    assert row["cells"][:2] == ["one", 2]


async def test_metadata_alone_can_be_asked_for(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answer = await api.call("GET", path, headers={"accept": accept})
    assert answer.body["kind"] == "PartialObjectMetadata"
    assert answer.body["metadata"]["name"] == "one"
    assert "data" not in answer.body


async def test_a_server_says_its_version_and_health(api: Api) -> None:
    version, *health = await asyncio.gather(
        api.call("GET", "/version"), *(api.call("GET", path) for path in ("/readyz", "/livez"))
    )
    assert version.body["major"] == "1"
    assert [answer.text for answer in health] == ["ok", "ok"]
