"""Changes that the server makes to single built-in kinds, beyond schemas and plain defaults."""

from typing import Any

from lading.embedded.kube import events, status
from lading.embedded.kube.builtins import checks, defaults, metadata, pods
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.state import State

Document = dict[str, Any]

_NAMESPACES, _PODS = "namespaces", "pods"


def begun(resource: Resource, document: Document) -> Document:
    """A new object with the defaults of its kind."""
    if resource.custom:
        return document
    return filled(resource, defaults.begin(resource.group, resource.kind, document))


def filled(resource: Resource, document: Document) -> Document:
    if resource.custom:
        return document
    if resource.storage_name == events.STORAGE_NAME:
        document = events.kept(document)
    return defaults.fill(resource.group, resource.kind, document)


def admitted(state: State, resource: Resource, document: Document) -> Document:
    """A new pod with the fields of admission, which have no field manager."""
    if resource.storage_name != _PODS:
        return document
    pod = pods.admitted(document)
    return _of_runtime_class(state, pod) if pod["spec"].get("runtimeClassName") else pod


def carried(resource: Resource, old: Document, new: Document) -> Document:
    """A changed object with the fields that no client may change."""
    if resource.storage_name == _NAMESPACES:
        return _labelled(_with_finalizers(old, new))
    return pods.tolerating(new) if resource.storage_name == _PODS else new


def problems(resource: Resource, document: Document, old: Document | None) -> list[Cause]:
    """Every problem of the metadata, and those that only the kind's own checks find."""
    found = metadata.problems(resource.group, resource.kind, document)
    if not resource.custom:
        found += checks.problems(resource.group, resource.kind, document, old)
    return found


def _with_finalizers(old: Document, new: Document) -> Document:
    if "spec" not in old:
        return new
    kept = {"finalizers": old["spec"]["finalizers"]} if "finalizers" in old["spec"] else {}
    return {**new, "spec": {**(new.get("spec") or {}), **kept}}


def _labelled(namespace: Document) -> Document:
    """Selectors of namespaces rely on this label, so no client can remove it."""
    metadata = namespace["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    return {**namespace, "metadata": {**metadata, "labels": labels}}


def _of_runtime_class(state: State, pod: Document) -> Document:
    """The pod with the overhead and the scheduling of its runtime class."""
    runtime_classes = state.registry.find("node.k8s.io", "v1", "runtimeclasses")
    assert runtime_classes is not None, "RuntimeClass is a built-in kind"
    wanted = pod["spec"]["runtimeClassName"]
    found = state.find(runtime_classes, "", wanted)
    try:
        if found is None:
            raise pods.Rejected(f'pod rejected: RuntimeClass "{wanted}" not found')
        return pods.of_runtime_class(pod, found)
    except pods.Rejected as error:
        name = pod["metadata"]["name"]
        raise status.forbidden(group="", plural="pods", name=name, why=str(error)) from None
