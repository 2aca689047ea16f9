"""What roles and their bindings must keep; whether they allow anything is not asked here."""

from collections.abc import Iterator

from lading.servers.kube.schema import causes, names
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = {"ServiceAccount": "", "User": _GROUP, "Group": _GROUP}
"""Who may be bound, and in which API group they are."""


def cluster_role(document: Document, old: Document | None) -> Iterator[Cause]:
    for index, rule in enumerate(document.get("rules") or ()):
        yield from _rule(rule, f"rules[{index}]")
    aggregation = document.get("aggregationRule")
    if aggregation is not None and not aggregation.get("clusterRoleSelectors"):
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield causes.required("aggregationRule.clusterRoleSelectors", detail)


def role(document: Document, old: Document | None) -> Iterator[Cause]:
    for index, rule in enumerate(document.get("rules") or ()):
        field, urls = f"rules[{index}]", rule.get("nonResourceURLs")
        if urls:
            detail = "namespaced rules cannot apply to non-resource URLs"
            yield causes.invalid(f"{field}.nonResourceURLs", urls, detail)
        else:
            yield from _rule(rule, field)


def _rule(rule: Document, field: str) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield causes.required(f"{field}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls and any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
        detail = "rules cannot apply to both regular resources and non-resource URLs"
        yield causes.invalid(f"{field}.nonResourceURLs", urls, detail)
    if urls:
        return
    for key, what in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(key):
            detail = f"resource rules must supply at least one {what}"
            yield causes.required(f"{field}.{key}", detail)


def cluster_role_binding(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _binding(document, old, ("ClusterRole",))
    for index, subject in enumerate(document.get("subjects") or ()):
        if subject.get("kind") == "ServiceAccount" and not subject.get("namespace"):
            yield causes.required(f"subjects[{index}].namespace")


def role_binding(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _binding(document, old, ("ClusterRole", "Role"))


def _binding(document: Document, old: Document | None, kinds: tuple[str, ...]) -> Iterator[Cause]:
    group, kind, name = _parts(document.get("roleRef") or {})
    if group != _GROUP:
        yield causes.not_supported("roleRef.apiGroup", group, (_GROUP,))
    if kind not in kinds:
        yield causes.not_supported("roleRef.kind", kind, kinds)
    if not name:
        yield causes.required("roleRef.name")
    if old is not None and document.get("roleRef") != old.get("roleRef"):
        shown = causes.Struct(APIGroup=group, Kind=kind, Name=name)
        yield causes.invalid("roleRef", shown, "cannot change roleRef")
    for index, subject in enumerate(document.get("subjects") or ()):
        yield from _subject(subject, f"subjects[{index}]")


def _subject(subject: Document, field: str) -> Iterator[Cause]:
    group, kind, name = _parts(subject)
    if kind not in _SUBJECTS:
        yield causes.not_supported(f"{field}.kind", kind, _SUBJECTS)
    elif group != _SUBJECTS[kind]:
        yield causes.not_supported(f"{field}.apiGroup", group, (_SUBJECTS[kind],))
    if not name:
        yield causes.required(f"{field}.name")
    elif kind == "ServiceAccount":
        for sentence in names.dns_1123_subdomain(name):
            yield causes.invalid(f"{field}.name", name, sentence)


def _parts(reference: Document) -> tuple[str, str, str]:
    return (
        reference.get("apiGroup") or "",
        reference.get("kind") or "",
        reference.get("name") or "",
    )
