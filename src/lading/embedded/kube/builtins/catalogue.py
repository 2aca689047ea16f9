"""The built-in kinds, read from `structures.json`: names, verbs, schemas, columns, selectors.

Schemas are linked: a reference is replaced by the schema it names, one object wherever it is used,
so a schema that contains itself (JSONSchemaProps) is a loop. Nothing may change them.
kube-apiserver decodes built-in kinds into structs, where an absent field is an empty one: a linked
schema has no required fields and treats an empty string as absent. `checks` has the required ones.
"""

import functools
import json
from importlib import resources
from typing import Any

from lading.embedded.kube.builtins import columns
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema import nodes
from lading.embedded.kube.schema.nodes import Schema

_REFERENCE = "#/components/schemas/"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_MICRO_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
_SCHEMA_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


_WITH_GENERATION = frozenset(
    {
        "pods",
        "daemonsets.apps",
        "jobs.batch",
        "cronjobs.batch",
        "customresourcedefinitions.apiextensions.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    }
)
"""The built-in kinds with a `metadata.generation`; every custom resource has one."""
_POD_FIELDS = (
    "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
    "status.phase status.podIP status.nominatedNodeName"
)
_EVENT_FIELDS = (
    "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
    "reason reportingComponent type"
)
_NEW_EVENT_FIELDS = (
    "regarding.kind regarding.namespace regarding.name regarding.uid "
    "reason reportingController type"
)
_SELECTABLE_FIELDS = {
    "pods": _POD_FIELDS,
    "events": _EVENT_FIELDS,
    "events.events.k8s.io": _NEW_EVENT_FIELDS,
    "nodes": "spec.unschedulable",
    "secrets": "type",
    "namespaces": "status.phase",
}


@functools.cache
def kinds() -> tuple[Resource, ...]:
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


def _kind(data: dict[str, Any], linked: dict[str, Schema]) -> Resource:
    group, plural = data["group"], data["plural"]
    name = f"{plural}.{group}" if group else plural
    return Resource(
        group=group,
        version=data["version"],
        kind=data["kind"],
        plural=plural,
        singular=data["singular"],
        list_kind=f"{data['kind']}List",
        short_names=tuple(data["shortNames"]),
        categories=tuple(data["categories"]),
        namespaced=data["namespaced"],
        subresources=tuple(each for each in data["subresources"] if each == "status"),
        verbs=tuple(data["verbs"]),
        schema=linked[data["definition"]],
        columns=columns.of(group, data["kind"]),
        definition=data["definition"],
        has_generation=name in _WITH_GENERATION,
        selectable_fields=tuple(_SELECTABLE_FIELDS.get(name, "").split()),
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
    """OpenAPI does not describe `items` and `additionalProperties` in the schema of a CRD.

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
