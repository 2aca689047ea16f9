"""Checks the metadata of an object: its name, labels, annotations, finalizers and owners.

The same for built-in kinds and custom resources; a custom resource is named as a DNS subdomain.
"""

from collections.abc import Callable, Iterator
from typing import Any

from lading.embedded.kube.schema import causes, names
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.schema.nodes import Document

ANNOTATIONS_BYTES_MAX = 256 * 1024
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
_RBAC = "rbac.authorization.k8s.io"


_CORE_GROUPS = ("", "apps", "batch")
"""In these groups a finalizer must be a standard one or have a domain prefix."""


def _namespace_name(name: str) -> list[str]:
    is_subdomain = "." in name and not names.dns_1123_subdomain(name)
    return ["must not contain dots"] if is_subdomain else names.dns_1123_label(name)


NameRule = Callable[[str], list[str]]
_NAME_RULES: dict[tuple[str, str], NameRule] = {
    ("", "Namespace"): _namespace_name,
    (_RBAC, "ClusterRole"): names.path_segment,
    (_RBAC, "ClusterRoleBinding"): names.path_segment,
    (_RBAC, "Role"): names.path_segment,
    (_RBAC, "RoleBinding"): names.path_segment,
}


def problems(group: str, kind: str, document: Document) -> list[Cause]:
    """Every problem of the metadata."""
    metadata = document.get("metadata") or {}
    rule = _NAME_RULES.get((group, kind), names.dns_1123_subdomain)
    return [
        *_name(metadata, rule),
        *labels(metadata.get("labels"), "metadata.labels"),
        *annotations(metadata.get("annotations"), "metadata.annotations"),
        *_finalizers(metadata.get("finalizers"), only_known=group in _CORE_GROUPS),
        *_owners(metadata.get("ownerReferences")),
    ]


def _name(metadata: Document, rule: NameRule) -> Iterator[Cause]:
    base, name = metadata.get("generateName") or "", metadata.get("name") or ""
    if base:  # the suffix makes a trailing dash valid
        for sentence in rule(base.rstrip("-") or base):
            yield causes.invalid("metadata.generateName", base, sentence)
    if not name:
        yield causes.required("metadata.name", "name or generateName is required")
        return
    for sentence in rule(name):
        yield causes.invalid("metadata.name", name, sentence)


def labels(given: Any, field: str) -> Iterator[Cause]:
    for key, value in (given or {}).items():
        for sentence in names.qualified_name(key):
            yield causes.invalid(field, key, sentence)
        for sentence in names.label_value(value) if isinstance(value, str) else ():
            yield causes.invalid(field, value, sentence)


def annotations(given: Any, field: str) -> Iterator[Cause]:
    size_bytes = 0
    for key, value in (given or {}).items():
        size_bytes += len(key.encode()) + len(str(value).encode())
        for sentence in names.qualified_name(key.lower()):
            yield causes.invalid(field, key, sentence)
    if size_bytes > ANNOTATIONS_BYTES_MAX:
        yield causes.too_long(field, ANNOTATIONS_BYTES_MAX)


def _finalizers(finalizers: Any, *, only_known: bool) -> Iterator[Cause]:
    for index, name in enumerate(finalizers or ()):
        sentences = names.qualified_name(name)
        for sentence in sentences:
            yield causes.invalid("metadata.finalizers", name, sentence)
        if only_known and not sentences and "/" not in name and name not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield causes.invalid(f"metadata.finalizers[{index}]", name, detail)


def _owners(owners: Any) -> Iterator[Cause]:
    field, controllers = "metadata.ownerReferences", []
    for owner in owners or ():
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                what = "version must not be empty" if key == "apiVersion" else "must not be empty"
                yield causes.invalid(f"{field}.{key}", "", what)
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    if len(controllers) > 1:
        detail = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{controllers[0]} and {controllers[1]}"
        )
        yield causes.invalid(field, owners, detail)
