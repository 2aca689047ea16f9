"""The pod of a DaemonSet for one node, and the hash of its template. Pure."""

import hashlib
from typing import Any

import msgspec

from lading.standalone.workloads import kinds, placement
from lading.standalone.workloads.kinds import DAEMON_SETS, DaemonSet, Document, PodSpec

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
HASH_CHARACTERS = 10
NAME_CHARACTERS_MAX = 57
"""A pod's name has 63; the suffix takes the rest."""
_EXECUTE = ("not-ready", "unreachable")
_SCHEDULE = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


def revision_hash(daemon_set: DaemonSet) -> str:
    """The same for the same template; it marks the pods that are up to date."""
    return _digest(daemon_set.spec.template)[:HASH_CHARACTERS]


def pod_spec(daemon_set: DaemonSet) -> PodSpec:
    """With what every pod of a DaemonSet tolerates."""
    return msgspec.convert(_tolerant_spec(daemon_set), PodSpec)


def pod_for(daemon_set: DaemonSet, node: str, *, taken: frozenset[str]) -> Document:
    """Its name is the first of a fixed row that no pod has."""
    template = daemon_set.spec.template
    metadata = template.get("metadata") or {}
    revision = revision_hash(daemon_set)
    labels = {
        **(metadata.get("labels") or {}),
        HASH_LABEL: revision,
        GENERATION_LABEL: daemon_set.metadata.annotations.get(GENERATION_ANNOTATION, "1"),
    }
    annotations = metadata.get("annotations") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": _name(daemon_set, node, revision, taken),
            "namespace": daemon_set.metadata.namespace,
            "labels": labels,
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [kinds.owner_reference(DAEMON_SETS, daemon_set)],
        },
        "spec": placement.on_node(_tolerant_spec(daemon_set), node),
    }


def _name(daemon_set: DaemonSet, node: str, revision: str, taken: frozenset[str]) -> str:
    prefix = daemon_set.metadata.name[:NAME_CHARACTERS_MAX]
    attempt = 0
    while True:
        suffix = _digest([daemon_set.metadata.uid, node, revision, attempt])[:5]
        if f"{prefix}-{suffix}" not in taken:
            return f"{prefix}-{suffix}"
        attempt += 1


def _tolerant_spec(daemon_set: DaemonSet) -> Document:
    spec: Document = daemon_set.spec.template.get("spec") or {}
    given = spec.get("tolerations") or []
    added = [_toleration(name, "NoExecute") for name in _EXECUTE]
    names = (*_SCHEDULE, *(("network-unavailable",) if spec.get("hostNetwork") else ()))
    added += [_toleration(name, "NoSchedule") for name in names]
    return {**spec, "tolerations": [*given, *(one for one in added if one not in given)]}


def _toleration(name: str, effect: str) -> Document:
    return {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}


def _digest(value: Any) -> str:
    content = msgspec.json.encode(value, order="sorted")
    return hashlib.sha256(content).hexdigest()
