"""A definition that becomes stricter: what was there before stays usable as long as it is kept."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lading.kernel.objects import Resource
from lading.ports import kube
from tests.conformance.kube.api import DEFINITIONS, Api, Document, eventually, served
from tests.conformance.kube.definitions import definition

STRICT = {
    "word": {"type": "string", "maxLength": 3},
    "number": {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self < 10", "message": "too large"}],
    },
    "other": {"type": "integer"},
    "moving": {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self > oldSelf", "message": "does not grow"}],
    },
    "parts": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "size": {"type": "integer", "maximum": 5}},
        },
    },
    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
}
LOOSE = {
    "word": {"type": "string"},
    "number": {"type": "integer"},
    "other": {"type": "integer"},
    "moving": {"type": "integer"},
    "parts": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        },
    },
    "tags": {"type": "array", "items": {"type": "string"}},
}
BEFORE = {
    "word": "long word",
    "number": 50,
    "parts": [{"name": "a", "size": 9}, {"name": "b", "size": 1}],
    "tags": ["x", "x"],
}


def with_properties(body: Document, properties: dict[str, Any]) -> list[Document]:
    """The versions of a definition with these properties of the spec."""
    (version,) = body["spec"]["versions"]
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return [{**version, "schema": schema}]


@contextlib.asynccontextmanager
async def tightened(api: Api) -> AsyncIterator[Resource[Document]]:
    """A kind with an object `one` that was written before its definition became strict."""
    kind, body = definition()
    name = body["metadata"]["name"]
    body["spec"]["versions"] = with_properties(body, LOOSE)
    await api.client.create(DEFINITIONS, body)
    try:
        await served(api, kind)
        await api.client.create(kind, gadget(kind, "one", **BEFORE))
        versions = with_properties(body, STRICT)
        await api.client.patch(DEFINITIONS, name, {"spec": {"versions": versions}})
        await eventually(lambda: is_strict(api, kind))
        yield kind
    finally:
        await api.client.delete(DEFINITIONS, name)


def gadget(kind: Resource[Document], name: str, **spec: Any) -> Document:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


async def is_strict(api: Api, kind: Resource[Document]) -> bool:
    name = f"probe-{secrets.token_hex(4)}"
    answer = await api.call(
        "POST", kind.path(), gadget(kind, name, word="long"), query={"dryRun": "All"}
    )
    return answer.status == 422


async def test_what_was_there_before_may_stay(api: Api) -> None:
    async with tightened(api) as kind:
        patched = await api.client.patch(kind, "one", {"spec": {"other": 1}})
        assert patched["spec"] == {**BEFORE, "other": 1}


async def test_an_item_of_a_map_list_may_stay_at_another_place(api: Api) -> None:
    parts = [{"name": "c", "size": 2}, {"name": "a", "size": 9}]
    async with tightened(api) as kind:
        patched = await api.client.patch(kind, "one", {"spec": {"parts": parts}})
        assert patched["spec"]["parts"] == parts


async def test_a_list_that_had_duplicates_may_have_others(api: Api) -> None:
    async with tightened(api) as kind:
        patched = await api.client.patch(kind, "one", {"spec": {"tags": ["y", "y"]}})
        assert patched["spec"]["tags"] == ["y", "y"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"word": "also long"}, "spec.word"),
        ({"number": 60}, "spec.number"),
        ({"parts": [{"name": "a", "size": 1}, {"name": "b", "size": 9}]}, "spec.parts[1].size"),
    ],
)
async def test_what_is_changed_must_be_right(api: Api, change: dict[str, Any], field: str) -> None:
    async with tightened(api) as kind:
        with pytest.raises(kube.Invalid) as caught:
            await api.client.patch(kind, "one", {"spec": change})
        assert field in [cause.field for cause in caught.value.causes]


async def test_a_rule_about_the_change_holds_for_what_stays(api: Api) -> None:
    async with tightened(api) as kind:
        await api.client.patch(kind, "one", {"spec": {"moving": 1}})
        with pytest.raises(kube.Invalid, match="does not grow"):
            await api.client.patch(kind, "one", {"spec": {"other": 1}})


async def test_a_boolean_is_never_the_number_that_was_there(api: Api) -> None:
    async with tightened(api) as kind:
        await api.client.patch(kind, "one", {"spec": {"other": 1}})
        with pytest.raises(kube.Invalid, match="must be of type integer"):
            await api.client.patch(kind, "one", {"spec": {"other": True}})


async def test_what_is_new_must_be_right(api: Api) -> None:
    async with tightened(api) as kind:
        with pytest.raises(kube.Invalid, match="too large"):
            await api.client.create(kind, gadget(kind, "two", number=50))
