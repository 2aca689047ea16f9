"""The metadata of every object: fields that the server sets or keeps, and the namespace."""

from typing import Any

from lading.embedded.kube import status
from lading.embedded.kube.requests import Call
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema import causes
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.state import State

Document = dict[str, Any]

GENERATED_CHARACTERS = 5
"""The length of the suffix of a generateName, as in kube-apiserver."""
GENERATED_BASE_CHARACTERS_MAX = 58
"""So that a generated name is a DNS label."""
INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
"""The namespaces of a new cluster."""
PERMANENT = ("default", "kube-public", "kube-system")
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def check_place(call: Call, document: Document) -> None:
    """Refuses a body with another namespace or name than the path, or without a name.

    A client that sends no name has not read the object, and would empty it.
    """
    metadata = document["metadata"]
    target = call.target
    if call.resource.namespaced:
        if metadata.setdefault("namespace", target.namespace) != target.namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match "
                "the namespace sent on the request"
            )
    elif metadata.pop("namespace", ""):
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if target.name and not metadata.get("name"):
        raise status.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if target.name and metadata["name"] != target.name:
        raise status.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL "
            f"({target.name})"
        )


def begin(state: State, resource: Resource, document: Document) -> None:
    """Sets the metadata of a new object."""
    metadata = document["metadata"]
    if metadata.pop("resourceVersion", ""):
        raise status.ApiError(
            code=500,
            reason="",
            message="resourceVersion should not be set on objects to be created",
        )
    for field in ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(field, None)
    base = metadata.get("generateName", "")
    if not metadata.get("name") and isinstance(base, str) and base:
        metadata["name"] = base[:GENERATED_BASE_CHARACTERS_MAX] + _suffix(state)
    if not metadata.get("name"):
        cause = causes.required("metadata.name", "name or generateName is required")
        raise status.invalid(group=resource.group, kind=resource.kind, name="", found=[cause])
    metadata["uid"] = state.uid_source()
    metadata["creationTimestamp"] = state.now()
    metadata.pop("generation", None)
    if resource.has_generation:
        metadata["generation"] = 1


def carry_over(resource: Resource, old: Document, new: Document) -> list[Cause]:
    """Restores the fields that only the server sets; returns forbidden changes."""
    before, after = old["metadata"], new["metadata"]
    for field in _KEPT:
        if field in before:
            after[field] = before[field]
        else:
            after.pop(field, None)
    after.pop("selfLink", None)
    if "generation" in before:
        after["generation"] = before["generation"]
    else:
        after.pop("generation", None)
    return _new_finalizers(before, after)


def bump_generation(resource: Resource, old: Document, new: Document) -> None:
    """The generation counts the changes of everything but metadata and status."""
    if resource.has_generation and _intent(resource, old) != _intent(resource, new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _intent(resource: Resource, document: Document) -> Document:
    ignored = ("metadata", "status") if resource.has_status else ("metadata",)
    return {key: value for key, value in document.items() if key not in ignored}


def _new_finalizers(before: Document, after: Document) -> list[Cause]:
    if "deletionTimestamp" not in before:
        return []
    known = before.get("finalizers", [])
    added = sorted(each for each in after.get("finalizers") or [] if each not in known)
    if not added:
        return []
    listed = ", ".join(f'"{each}"' for each in added)
    detail = (
        "no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{listed}}}"
    )
    return [causes.forbidden("metadata.finalizers", detail)]


_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def _suffix(state: State) -> str:
    """Letters from a fresh uid, so that a deterministic uid source gives deterministic names."""
    number = int.from_bytes(state.uid_source().encode()) % len(_ALPHABET) ** GENERATED_CHARACTERS
    letters = ""
    for _ in range(GENERATED_CHARACTERS):
        number, place = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[place]
    return letters


def namespaces(state: State) -> Resource:
    found = state.registry.find("", "v1", "namespaces")
    assert found is not None, "Namespace is a built-in kind"
    return found


def check_accepts_content(state: State, call: Call, document: Document) -> None:
    """Raises when an object cannot be created in the namespace of the request."""
    namespace = call.target.namespace
    if not namespace:
        return
    found = state.find(namespaces(state), "", namespace)
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
    """Raises for the namespaces that cannot be deleted."""
    if call.resource.storage_name == "namespaces" and call.target.name in PERMANENT:
        raise status.forbidden(
            group="",
            plural="namespaces",
            name=call.target.name,
            why="this namespace may not be deleted",
        )


def ensure_initial(state: State) -> None:
    for name in INITIAL:
        if state.find(namespaces(state), "", name) is None:
            state.put(namespaces(state), _fresh(state, name))


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
