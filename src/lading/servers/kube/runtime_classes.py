"""What a new pod gets from the runtime class it names: overhead, and where it may run.

It comes after validation, as all of admission does, and what it adds has no field manager.
"""

from typing import Any

from lading.servers.kube import status
from lading.servers.kube.resources import Resource
from lading.servers.kube.state import State

Document = dict[str, Any]


def admitted(state: State, resource: Resource, document: Document) -> Document:
    """The pod with what its class adds; anything else as it is."""
    if resource.storage_name != "pods" or not document["spec"].get("runtimeClassName"):
        return document
    runtime_class = _named(state, document)
    spec = _with_overhead(document, runtime_class.get("overhead") or {})
    spec = _with_scheduling(document, spec, runtime_class.get("scheduling") or {})
    return {**document, "spec": spec}


def _named(state: State, pod: Document) -> Document:
    runtime_classes = state.registry.find("node.k8s.io", "v1", "runtimeclasses")
    assert runtime_classes is not None, "RuntimeClass is a built-in kind"
    wanted = pod["spec"]["runtimeClassName"]
    found = state.find(runtime_classes, "", wanted)
    if found is None:
        raise _forbidden(pod, f'pod rejected: RuntimeClass "{wanted}" not found')
    return found


def _with_overhead(pod: Document, overhead: Document) -> Document:
    spec, fixed = pod["spec"], overhead.get("podFixed") or {}
    given = spec.get("overhead") or {}
    if given and given != fixed:
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise _forbidden(pod, why)
    return {**spec, "overhead": fixed} if fixed else spec


def _with_scheduling(pod: Document, spec: Document, scheduling: Document) -> Document:
    wanted, given = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key, value in sorted(wanted.items()):
        if given.get(key, value) != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {given[key]}"
            )
            raise _forbidden(pod, why)
    selector = {"nodeSelector": {**given, **wanted}} if wanted else {}
    tolerated = spec.get("tolerations") or []
    more = [each for each in scheduling.get("tolerations") or () if each not in tolerated]
    return {**spec, **selector, "tolerations": [*tolerated, *more]}


def _forbidden(pod: Document, why: str) -> status.ApiError:
    return status.forbidden(group="", plural="pods", name=pod["metadata"]["name"], why=why)
