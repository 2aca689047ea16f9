"""A definition that becomes stricter: what was there before stays usable as long as it is kept."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lading.kernel.objects import Resource
from lading.ports import kube
from tests.conformance.kube.api import DEFINITIONS, Api, Document, eventually, served
from tests.conformance.kube.test_definitions import definition

STRICT = {
    "word": {"type": "string", "maxLength": 3},
    "number": {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self < 10", "message": "too large"}],
    },
    "other": {"type": "integer"},
}
LOOSE = {"word": {"type": "string"}, "number": {"type": "integer"}, "other": {"type": "integer"}}


def with_properties(body: Document, properties: dict[str, Any]) -> list[Document]:
    """The versions of a definition whose spec has these properties."""
    (version,) = body["spec"]["versions"]
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return [{**version, "schema": schema}]


@contextlib.asynccontextmanager
async def tightened(api: Api) -> AsyncIterator[Resource[Document]]:
    """A kind whose object `one` was written before its definition became strict."""
    kind, body = definition()
    name = body["metadata"]["name"]
    body["spec"]["versions"] = with_properties(body, LOOSE)
    await api.client.create(DEFINITIONS, body)
    try:
        await served(api, kind)
        await api.client.create(kind, gadget(kind, "one", word="long word", number=50))
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
        assert patched["spec"] == {"word": "long word", "number": 50, "other": 1}


@pytest.mark.parametrize(
    ("change", "field"), [({"word": "also long"}, "spec.word"), ({"number": 60}, "spec.number")]
)
async def test_what_is_changed_must_be_right(api: Api, change: dict[str, Any], field: str) -> None:
    async with tightened(api) as kind:
        with pytest.raises(kube.Invalid) as caught:
            await api.client.patch(kind, "one", {"spec": change})
        assert field in [cause.field for cause in caught.value.causes]


async def test_what_is_new_must_be_right(api: Api) -> None:
    async with tightened(api) as kind:
        with pytest.raises(kube.Invalid, match="too large"):
            await api.client.create(kind, gadget(kind, "two", number=50))
