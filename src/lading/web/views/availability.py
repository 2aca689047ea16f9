"""Explains a missing kind in a sentence with the next step."""

from collections.abc import Mapping
from typing import Any

from lading.kernel.objects import Resource
from lading.web.reading import KindState


def sentence(resource: Resource[Any], state: KindState) -> str:
    """Empty if the kind is available."""
    match state:
        case KindState.MISSING:
            return f"This cluster does not serve {resource.kind} ({resource.api_version})."
        case KindState.FORBIDDEN:
            return f"Your account may not list and watch {plural(resource)}."
        case KindState.REFUSED:
            return f"The API server refuses to list {plural(resource)}."
        case KindState.WAITING:
            return f"Waiting for the {plural(resource)}."
        case KindState.SERVED:
            return ""


def command(resource: Resource[Any], state: KindState) -> str:
    if state is KindState.MISSING:
        return "lading crds | kubectl apply --server-side -f -"
    if state is KindState.FORBIDDEN:
        return f"kubectl auth can-i list {plural(resource)}"
    return ""


def value(resource: Resource[Any], state: KindState) -> dict[str, str]:
    return {
        "kind": resource.kind,
        "state": state,
        "sentence": sentence(resource, state),
        "command": command(resource, state),
    }


def plural(resource: Resource[Any]) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def first_absent(
    states: Mapping[Resource[Any], KindState], needed: tuple[Resource[Any], ...]
) -> tuple[Resource[Any], KindState] | None:
    """The first kind of a feature that is not available."""
    return next(((one, states[one]) for one in needed if states[one] is not KindState.SERVED), None)
