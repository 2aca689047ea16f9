"""CustomResourceDefinitions: the resources that they serve, and their status.

A definition is established in the write that stores it, unless its names are taken. The collector
removes the objects of a deleted definition.
"""

import re
from typing import Any

from lading.embedded.kube import builtins, tables
from lading.embedded.kube.resources import STANDARD_VERBS, Resource
from lading.embedded.kube.schema import definition
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.state import State

Document = dict[str, Any]

STORAGE_NAME = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that holds a definition until its objects are gone."""
_LEAVING_VERBS = tuple(each for each in STANDARD_VERBS if each != "create")
"""The verbs of a definition that is being deleted."""
_TERMINATING = (
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
)
_TEXT = {"type": "string"}
_VERSION = re.compile(r"v(?P<major>[0-9]+)(?:(?P<stage>alpha|beta)(?P<minor>[0-9]+))?")


def is_definition(resource: Resource) -> bool:
    return resource.storage_name == STORAGE_NAME


def problems(resource: Resource, document: Document, old: Document | None) -> list[Cause]:
    return definition.problems(document, old) if is_definition(resource) else []


def with_status(state: State, resource: Resource, document: Document) -> Document:
    """Sets the status of a definition, as the controllers of kube-apiserver do."""
    if not is_definition(resource):
        return document
    taken = _taken_name(state, document)
    before = document.get("status", {})
    conditions = _conditions(state.now(), before.get("conditions", []), taken)
    return {
        **document,
        "status": {
            "conditions": conditions,
            "acceptedNames": before.get("acceptedNames", {})
            if taken
            else document["spec"]["names"],
            "storedVersions": _stored_versions(document, before.get("storedVersions", [])),
        },
    }


def leaving(document: Document, now: str) -> Document:
    """A definition in deletion, with the finalizer that waits for its objects."""
    metadata = document["metadata"]
    finalizers = metadata.get("finalizers", [])
    if CLEANUP not in finalizers:
        metadata = {**metadata, "finalizers": [*finalizers, CLEANUP]}
    status = document.get("status", {})
    before = status.get("conditions", [])
    others = [each for each in before if each["type"] != "Terminating"]
    terminating = _condition(now, "Terminating", _TERMINATING, before)
    status = {**status, "conditions": [*others, terminating]}
    return {**document, "metadata": metadata, "status": status}


def served(document: Document, revision: int) -> tuple[Resource, ...]:
    """The resources that an established definition serves, the versions in order of preference."""
    spec = document["spec"]
    if not _is_established(document):
        return ()
    versions = sorted(spec["versions"], key=lambda each: version_rank(each["name"]))
    leaving = "deletionTimestamp" in document["metadata"]
    return tuple(
        _resource(spec, version, revision, leaving=leaving)
        for version in versions
        if version.get("served")
    )


def version_rank(name: str) -> tuple[int, int, int, str]:
    """Sorts as Kubernetes prefers versions: v2, v1, v1beta2, v1alpha1, then anything else."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (3, 0, 0, name)
    stage = {None: 0, "beta": 1, "alpha": 2}[match["stage"]]
    return (stage, -int(match["major"]), -int(match["minor"] or 0), name)


def _resource(spec: Document, version: Document, revision: int, *, leaving: bool) -> Resource:
    names, group = spec["names"], spec["group"]
    subresources = version.get("subresources") or {}
    declared = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    backwards = ".".join(reversed(group.split(".")))
    return Resource(
        group=group,
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec["scope"] == "Namespaced",
        subresources=("status",) if "status" in subresources else (),
        verbs=_LEAVING_VERBS if leaving else STANDARD_VERBS,
        schema=_schema(declared, preserves=bool(spec.get("preserveUnknownFields"))),
        columns=tables.of_definition(version.get("additionalPrinterColumns")),
        definition=f"{backwards}.{version['name']}.{names['kind']}",
        custom=True,
        has_generation=True,
        since_revision=revision,
    )


def _schema(declared: Document, *, preserves: bool) -> Document:
    """The schema with the metadata that every object has; a definition does not declare it."""
    fixed = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": builtins.object_metadata()}
    properties = {**(declared.get("properties") or {}), **fixed}
    loose = {"x-kubernetes-preserve-unknown-fields": True} if preserves else {}
    return {**declared, "type": "object", "properties": properties, **loose}


def _is_established(document: Document) -> bool:
    conditions = document.get("status", {}).get("conditions", [])
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _taken_name(state: State, document: Document) -> str:
    """A name that another definition, or a built-in kind, of the same group already has."""
    names, group = document["spec"]["names"], document["spec"]["group"]
    mine = {names["plural"], names["singular"], *names.get("shortNames", ())}
    own = f"{names['plural']}.{group}"
    for other in state.registry:
        if other.group != group or other.storage_name == own:
            continue
        shared = mine & {other.plural, other.singular, *other.short_names}
        if shared or names["kind"] == other.kind:
            return min(shared, default=other.kind)
    return ""


def _conditions(now: str, before: list[Document], taken: str) -> list[Document]:
    if taken:
        accepted = ("False", "NameConflict", f'"{taken}" is already in use')
        ready = ("False", "NotAccepted", "not all names are accepted")
    else:
        accepted = ("True", "NoConflicts", "no conflicts found")
        ready = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    found = {"NamesAccepted": accepted, "Established": ready}
    kept = [each for each in before if each["type"] == "Terminating"]
    return [_condition(now, kind, fact, before) for kind, fact in found.items()] + kept


def _condition(now: str, kind: str, fact: tuple[str, str, str], before: list[Document]) -> Document:
    truth, reason, message = fact
    earlier = next((each for each in before if each["type"] == kind), {})
    same = earlier.get("status") == truth
    return {
        "type": kind,
        "status": truth,
        "lastTransitionTime": earlier["lastTransitionTime"] if same else now,
        "reason": reason,
        "message": message,
    }


def _stored_versions(document: Document, before: list[str]) -> list[str]:
    storage = next(each["name"] for each in document["spec"]["versions"] if each.get("storage"))
    return before if storage in before else [*before, storage]
