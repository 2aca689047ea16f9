"""CustomResourceDefinitions: from being written to being served, in versions, and to their end."""

import copy

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    DEFINITIONS,
    WIDGET_DEFINITION,
    WIDGETS,
    Api,
    eventually,
    gone,
    resource,
    served,
    widget,
)
from tests.conformance.kube.definitions import definition


async def test_a_definition_is_accepted_established_and_served(api: Api) -> None:
    gadgets, body = definition()
    await api.client.create(DEFINITIONS, body)
    await served(api, gadgets)
    found = await api.client.get(DEFINITIONS, body["metadata"]["name"])
    conditions = {entry["type"]: entry["status"] for entry in found["status"]["conditions"]}
    assert conditions["NamesAccepted"] == conditions["Established"] == "True"
    assert found["status"]["storedVersions"] == ["v1"]
    names = found["spec"]["names"]
    assert (names["singular"], names["listKind"]) == (
        gadgets.kind.lower(),
        f"{gadgets.kind}List",
    )
    assert found["spec"]["conversion"] == {"strategy": "None"}
    created = await api.client.create(
        gadgets,
        {
            "apiVersion": gadgets.api_version,
            "kind": gadgets.kind,
            "metadata": {"name": "one"},
            "any": {"thing": 1},
        },
    )
    assert created["any"] == {"thing": 1}
    await api.client.delete(DEFINITIONS, body["metadata"]["name"])


async def test_deleting_a_definition_deletes_its_objects(api: Api) -> None:
    gadgets, body = definition()
    name = body["metadata"]["name"]
    await api.client.create(DEFINITIONS, body)
    await served(api, gadgets)
    gadget = {"apiVersion": gadgets.api_version, "kind": gadgets.kind, "metadata": {"name": "one"}}
    await api.client.create(gadgets, gadget)
    await api.client.delete(DEFINITIONS, name)
    await gone(api, DEFINITIONS, name)

    async def is_not_served() -> bool:
        return (await api.call("GET", gadgets.path())).status == 404

    await eventually(is_not_served)
    await api.client.create(DEFINITIONS, body)
    await served(api, gadgets)
    assert (await api.client.page(gadgets)).items == ()
    await api.client.delete(DEFINITIONS, name)


async def test_an_embedded_resource_says_what_it_is(api: Api) -> None:
    gadgets, body = definition()
    inner = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = {"type": "object", "properties": {"inner": inner}}
    body["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    await api.client.create(DEFINITIONS, body)
    await served(api, gadgets)
    gadget = {"apiVersion": gadgets.api_version, "kind": gadgets.kind, "metadata": {"name": "one"}}
    with pytest.raises(kube.Invalid, match=r"inner\.apiVersion: Required value") as caught:
        await api.client.create(gadgets, {**gadget, "inner": {"spec": {}}})
    assert "inner.kind: Required value" in caught.value.message
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "any": 1}
    created = await api.client.create(gadgets, {**gadget, "inner": whole})
    assert created["inner"] == whole
    await api.client.delete(DEFINITIONS, body["metadata"]["name"])


async def test_an_object_can_be_read_in_every_served_version(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(size=4), namespace=namespace)
    older = resource("widgets", "Widget", group=WIDGETS.group, version="v1beta1")
    found = await api.client.get(older, "one", namespace=namespace)
    assert found["apiVersion"] == "conformance.lading.example/v1beta1"
    assert found["spec"] == {"size": 4}
    patched = await api.client.patch(older, "one", {"spec": {"size": 5}}, namespace=namespace)
    assert patched["apiVersion"] == older.api_version
    newer = await api.client.get(WIDGETS, "one", namespace=namespace)
    assert (newer["apiVersion"], newer["spec"]["size"]) == (WIDGETS.api_version, 5)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (
            ("metadata", "name"),
            "other.example.com",
            'metadata.name: Invalid value: "other.example.com": must be spec.names.plural',
        ),
        (("spec", "scope"), "Galaxy", 'spec.scope: Unsupported value: "Galaxy"'),
        (
            ("spec", "versions", 0, "storage"),
            False,
            "must have exactly one version marked as storage",
        ),
        (("spec", "versions", 0, "schema"), None, "schema.openAPIV3Schema: Required value"),
        (
            ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties"),
            {"a": {}},
            "type: Required value: must not be empty for specified",
        ),
        (
            ("spec", "versions", 0, "schema", "openAPIV3Schema", "x-kubernetes-validations"),
            [{"rule": "self.absent ==="}],
            "compilation failed",
        ),
    ],
)
async def test_a_definition_that_cannot_work_is_refused(
    api: Api, path: tuple[str | int, ...], value: object, problem: str
) -> None:
    _, body = definition()
    part = body = copy.deepcopy(body)
    for step in path[:-1]:
        part = part[step]  # type: ignore[index]
    part[path[-1]] = value  # type: ignore[index]
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(DEFINITIONS, body)
    assert problem in caught.value.message


async def test_a_definition_says_what_it_was_given(api: Api) -> None:
    found = await api.client.get(DEFINITIONS, WIDGET_DEFINITION["metadata"]["name"])
    assert [version["name"] for version in found["spec"]["versions"]] == ["v1beta1", "v1"]
    assert found["status"]["acceptedNames"]["shortNames"] == ["wd"]


async def test_a_version_that_objects_may_be_stored_in_stays(api: Api) -> None:
    gadgets, body = definition()
    name = body["metadata"]["name"]
    await api.client.create(DEFINITIONS, body)
    await served(api, gadgets)
    newer = [{**body["spec"]["versions"][0], "name": "v2"}]
    with pytest.raises(kube.Invalid, match=r"storedVersions\[0\]: .* missing from spec\.versions"):
        await api.client.patch(DEFINITIONS, name, {"spec": {"versions": newer}})
    kept = await api.client.get(DEFINITIONS, name)
    assert [version["name"] for version in kept["spec"]["versions"]] == ["v1"]
    await api.client.delete(DEFINITIONS, name)


async def test_the_group_of_a_definition_never_changes(api: Api) -> None:
    gadgets, body = definition()
    await api.client.create(DEFINITIONS, body)
    await served(api, gadgets)
    with pytest.raises(kube.Invalid, match=r"is invalid: spec\.group: .*: field is immutable$"):
        await api.client.patch(
            DEFINITIONS, body["metadata"]["name"], {"spec": {"group": "other.example"}}
        )
