"""What a namespace has to do with the objects in it: it must exist, and not be on its way out."""

from typing import Any

from lading.servers.kube import status
from lading.servers.kube.requests import Call
from lading.servers.kube.resources import Resource
from lading.servers.kube.state import State

Document = dict[str, Any]

INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
"""They exist from the start, as on every cluster."""
PERMANENT = ("default", "kube-public", "kube-system")


def resource(state: State) -> Resource:
    found = state.registry.find("", "v1", "namespaces")
    assert found is not None, "Namespace is a built-in kind"
    return found


def check_accepts_content(state: State, call: Call, document: Document) -> None:
    """Raises when an object cannot be created in the namespace of the request."""
    namespace = call.target.namespace
    if not namespace:
        return
    found = state.find(resource(state), "", namespace)
    if found is None:
        raise status.not_found(group="", plural="namespaces", name=namespace)
    if "deletionTimestamp" in found["metadata"]:
        raise status.namespace_is_terminating(
            group=call.resource.group,
            plural=call.resource.plural,
            name=str(document["metadata"].get("name", "")),
            namespace=namespace,
        )


def check_may_go(call: Call) -> None:
    """Raises for the namespaces that a cluster cannot be without."""
    if call.resource.storage_name == "namespaces" and call.target.name in PERMANENT:
        raise status.forbidden(
            group="",
            plural="namespaces",
            name=call.target.name,
            why="this namespace may not be deleted",
        )


def ensure_initial(state: State) -> None:
    for name in INITIAL:
        if state.find(resource(state), "", name) is None:
            state.put(resource(state), _fresh(state, name))


def _fresh(state: State, name: str) -> Document:
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": state.uid_source(),
            "creationTimestamp": state.now(),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
