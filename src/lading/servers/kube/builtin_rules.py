"""What the server adds to and asks of single built-in kinds, beyond their schemas."""

from typing import Any

from lading.servers.kube import event_forms
from lading.servers.kube.builtins import checks, daemon_sets, defaults, metadata, pod_admission
from lading.servers.kube.resources import Resource
from lading.servers.kube.schema.causes import Cause

Document = dict[str, Any]

_NAMESPACES, _PODS, _DAEMON_SETS = "namespaces", "pods", "daemonsets.apps"


def begun(resource: Resource, document: Document) -> Document:
    """A new object with everything its kind gives it."""
    if resource.custom:
        return document
    document = filled(resource, defaults.begin(resource.group, resource.kind, document))
    return daemon_sets.begun(document) if resource.storage_name == _DAEMON_SETS else document


def admitted(resource: Resource, document: Document) -> Document:
    """A new object with fields that were not sent, and therefore have no field manager."""
    return pod_admission.admitted(document) if resource.storage_name == _PODS else document


def filled(resource: Resource, document: Document) -> Document:
    if resource.custom:
        return document
    if resource.storage_name == event_forms.STORAGE_NAME:
        document = event_forms.kept(document)
    return defaults.fill(resource.group, resource.kind, document)


def carried(resource: Resource, old: Document, new: Document) -> Document:
    """A changed object with what only the server may change in its kind."""
    if resource.storage_name == _NAMESPACES:
        return _labelled(_with_finalizers(old, new))
    if resource.storage_name == _PODS:
        return pod_admission.tolerating(new)
    return daemon_sets.carried(old, new) if resource.storage_name == _DAEMON_SETS else new


def counted(resource: Resource, old: Document, new: Document) -> Document:
    """A changed object with what the server changes because of it, without a field manager."""
    return daemon_sets.counted(old, new) if resource.storage_name == _DAEMON_SETS else new


def _with_finalizers(old: Document, new: Document) -> Document:
    if "spec" not in old:
        return new
    kept = {"finalizers": old["spec"]["finalizers"]} if "finalizers" in old["spec"] else {}
    return {**new, "spec": {**(new.get("spec") or {}), **kept}}


def _labelled(namespace: Document) -> Document:
    """A namespace can always be selected by its name: no client removes this label."""
    metadata = namespace["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    return {**namespace, "metadata": {**metadata, "labels": labels}}


def problems(resource: Resource, document: Document, old: Document | None) -> list[Cause]:
    """What is wrong with its metadata, and with what its kind asks beyond the schema."""
    found = metadata.problems(resource.group, resource.kind, document)
    if not resource.custom:
        found += checks.problems(resource.group, resource.kind, document, old)
    return found
