"""The metadata every object has: what the server sets, keeps, and refuses to see changed."""

from typing import Any

from lading.servers.kube import status
from lading.servers.kube.requests import Call
from lading.servers.kube.resources import Resource
from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.state import State

Document = dict[str, Any]

GENERATED_CHARACTERS = 5
"""How much is added to a generateName, as kube-apiserver does."""
GENERATED_BASE_CHARACTERS_MAX = 58
"""So that a generated name is a DNS label."""
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def check_place(call: Call, document: Document) -> None:
    """The body may not contradict the namespace and name of the path, nor leave out the name.

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
    """Fills in what a new object gets from the server."""
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
    """Keeps what only the server sets; returns what the client may not have changed."""
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
