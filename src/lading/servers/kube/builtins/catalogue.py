"""The built-in kinds, read from `structures.json`: names, verbs, schema, columns for kubectl get.

Schemas are linked: a reference is replaced by the schema it names, the same object wherever it
is used, so a schema that contains itself (JSONSchemaProps) is a loop. Nothing may change them.
The API server decodes built-in kinds into structs, where an absent field is an empty one; so a
linked schema requires nothing, and an empty text is as good as none. `checks` says what is missing.
"""

import functools
import json
from importlib import resources
from typing import Any

import msgspec

from lading.servers.kube.builtins import columns
from lading.servers.kube.builtins.columns import Column
from lading.servers.kube.schema import nodes
from lading.servers.kube.schema.nodes import Schema

_REFERENCE = "#/components/schemas/"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_MICRO_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
_SCHEMA_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One built-in kind, as discovery and the verbs need to know it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    namespaced: bool
    subresources: tuple[str, ...]
    verbs: tuple[str, ...]
    definition: str
    """The name of its schema among `definitions()`, as OpenAPI documents write it."""
    schema: Schema
    columns: tuple[Column, ...]


@functools.cache
def kinds() -> tuple[Kind, ...]:
    """Every built-in kind, ordered by group and kind."""
    linked = _linked()
    return tuple(_kind(each, linked) for each in _structures()["kinds"])


def definitions() -> dict[str, Schema]:
    """The schemas by name, with `$ref` between them, as OpenAPI v3 documents carry them."""
    found: dict[str, Schema] = _structures()["definitions"]
    return found


def object_metadata() -> Schema:
    """The schema of `metadata`, the same for every kind."""
    return _linked()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]


def kubernetes_version() -> str:
    """The version of the kube-apiserver that the structures were read from."""
    return str(_structures()["version"])


@functools.cache
def _structures() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("structures.json").read_text()
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _kind(data: dict[str, Any], linked: dict[str, Schema]) -> Kind:
    return Kind(
        group=data["group"],
        version=data["version"],
        kind=data["kind"],
        plural=data["plural"],
        singular=data["singular"],
        short_names=tuple(data["shortNames"]),
        categories=tuple(data["categories"]),
        namespaced=data["namespaced"],
        subresources=tuple(data["subresources"]),
        verbs=tuple(data["verbs"]),
        definition=data["definition"],
        schema=linked[data["definition"]],
        columns=columns.of(data["group"], data["kind"]),
    )


@functools.cache
def _linked() -> dict[str, Schema]:
    linked: dict[str, Schema] = {name: {} for name in definitions()}
    for name, schema in definitions().items():
        linked[name].update(_link(schema, linked))
    _describe_schemas_in_schemas(linked)
    linked[_QUANTITY]["format"] = nodes.QUANTITY
    linked[_MICRO_TIME]["format"] = nodes.MICRO_TIME
    return linked


def _describe_schemas_in_schemas(linked: dict[str, Schema]) -> None:
    """OpenAPI leaves open what stands in `items` and `additionalProperties` of a CRD's schema.

    It is a schema again, or, for the latter, true or false.
    """
    whole = linked[_SCHEMA_PROPS]
    for name, left_out in (("OrArray", ()), ("OrBool", ("type",))):
        place = linked[_SCHEMA_PROPS + name]
        place.clear()
        place.update({key: value for key, value in whole.items() if key not in left_out})


def _link(schema: Schema, linked: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REFERENCE)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_link(definitions()[name], linked), **beside} if beside else linked[name]
    copy = {key: value for key, value in schema.items() if key != "required"}
    if "enum" in copy:
        copy[nodes.EMPTY_IS_ABSENT] = True
    if "properties" in copy:
        copy["properties"] = {key: _link(each, linked) for key, each in copy["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(copy.get(key), dict):
            copy[key] = _link(copy[key], linked)
    return copy
