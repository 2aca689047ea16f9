"""What built-in kinds must keep beyond their schemas: small functions named by kind.

These are the rules that people and our features meet, in kube-apiserver's words; it has many
more. Workloads are in `workload_checks`, admission policies in `policy_checks`.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator

from lading.servers.kube.builtins import policy_checks, workload_checks
from lading.servers.kube.schema import causes, names
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

Check = Callable[[Document, Document | None], Iterator[Cause]]
DATA_BYTES_MAX = 1024 * 1024
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_NOT_A_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_FIXED = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"
_SECRET_KEYS = {
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_JSON_SECRETS = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")
_RBAC = "rbac.authorization.k8s.io"


def problems(group: str, kind: str, document: Document, old: Document | None) -> list[Cause]:
    """Everything wrong with an object of a built-in kind; empty for kinds without own rules."""
    check = _CHECKS.get((group, kind))
    return list(check(document, old)) if check else []


def config_map(document: Document, old: Document | None) -> Iterator[Cause]:
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    yield from _keys("data", data)
    yield from _keys("binaryData", binary)
    for key in data.keys() & binary.keys():
        yield causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    size_bytes = sum(len(str(value).encode()) for value in (*data.values(), *binary.values()))
    if size_bytes > DATA_BYTES_MAX:
        yield causes.too_long("[]", DATA_BYTES_MAX)
    yield from _immutable(document, old, ("data", "binaryData"))


def secret(document: Document, old: Document | None) -> Iterator[Cause]:
    data, kind = document.get("data") or {}, document.get("type", "")
    yield from _keys("data", data)
    if sum(len(str(value)) * 3 // 4 for value in data.values()) > DATA_BYTES_MAX:
        yield causes.too_long("data", DATA_BYTES_MAX)
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            yield causes.required(f"data[{key}]")
        elif kind in _JSON_SECRETS and not _is_json(data[key]):
            yield causes.invalid(f"data[{key}]", _REDACTED, "it is not valid JSON")
    if old is not None and kind != old.get("type"):
        yield causes.invalid("type", kind, "field is immutable")
    yield from _immutable(document, old, ("data",))


def _is_json(encoded: str) -> bool:
    try:
        json.loads(base64.b64decode(encoded, validate=True))
    except (ValueError, binascii.Error):
        return False
    return True


def _keys(field: str, data: Document) -> Iterator[Cause]:
    for key in data:
        place = f"{field}[{key}]"
        if not _KEY.fullmatch(key):
            yield causes.invalid(place, key, _NOT_A_KEY)
        elif key == "." or key.startswith(".."):
            what = f"must not be '{key}'" if key in (".", "..") else "must not start with '..'"
            yield causes.invalid(place, key, what)


def _immutable(
    document: Document, old: Document | None, fields: tuple[str, ...]
) -> Iterator[Cause]:
    if old is None or not old.get("immutable"):
        return
    if not document.get("immutable"):
        yield causes.forbidden("immutable", _FIXED)
    for field in fields:
        if (document.get(field) or {}) != (old.get(field) or {}):
            yield causes.forbidden(field, _FIXED)


def lease(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield causes.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        detail = "must be greater than or equal to 0"
        yield causes.invalid("spec.leaseTransitions", transitions, detail)


def runtime_class(document: Document, old: Document | None) -> Iterator[Cause]:
    handler = document.get("handler") or ""
    if not handler:
        yield causes.required("handler")
        return
    for sentence in names.dns_1123_label(handler):
        yield causes.invalid("handler", handler, sentence)
    if old is not None and handler != old.get("handler"):
        yield causes.invalid("handler", handler, "field is immutable")


def event(document: Document, old: Document | None) -> Iterator[Cause]:
    about = document.get("involvedObject") or {}
    namespace = document["metadata"].get("namespace", "")
    if (about.get("namespace") or "default") != namespace:
        detail = "does not match event.namespace"
        yield causes.invalid("involvedObject.namespace", about.get("namespace", ""), detail)


def service(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    is_headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and spec.get("type") != "ExternalName" and not is_headless:
        yield causes.required("spec.ports")


def role(document: Document, old: Document | None) -> Iterator[Cause]:
    for index, rule in enumerate(document.get("rules") or ()):
        field = f"rules[{index}]"
        if not rule.get("verbs"):
            yield causes.required(f"{field}.verbs", "verbs must contain at least one value")
        if rule.get("nonResourceURLs"):
            continue
        for key, what in (("apiGroups", "api group"), ("resources", "resource")):
            if not rule.get(key):
                detail = f"resource rules must supply at least one {what}"
                yield causes.required(f"{field}.{key}", detail)


def cluster_role_binding(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _role_binding(document, old, ("ClusterRole",))


def role_binding(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _role_binding(document, old, ("ClusterRole", "Role"))


def _role_binding(
    document: Document, old: Document | None, kinds: tuple[str, ...]
) -> Iterator[Cause]:
    reference = document.get("roleRef") or {}
    if reference.get("kind", "") not in kinds:
        yield causes.not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    if not reference.get("name"):
        yield causes.required("roleRef.name")
    if old is not None and reference != old.get("roleRef"):
        shown = causes.Struct(
            APIGroup=reference.get("apiGroup", ""),
            Kind=reference.get("kind", ""),
            Name=reference.get("name", ""),
        )
        yield causes.invalid("roleRef", shown, "cannot change roleRef")
    for index, subject in enumerate(document.get("subjects") or ()):
        yield from _subject(subject, f"subjects[{index}]")


def _subject(subject: Document, field: str) -> Iterator[Cause]:
    kinds = ("ServiceAccount", "User", "Group")
    if subject.get("kind", "") not in kinds:
        yield causes.not_supported(f"{field}.kind", subject.get("kind", ""), kinds)
    if not subject.get("name"):
        yield causes.required(f"{field}.name")
    if subject.get("kind") == "ServiceAccount" and not subject.get("namespace"):
        yield causes.required(f"{field}.namespace")


_CHECKS: dict[tuple[str, str], Check] = {
    ("", "ConfigMap"): config_map,
    ("", "Event"): event,
    ("", "Pod"): workload_checks.pod,
    ("", "Secret"): secret,
    ("", "Service"): service,
    ("apps", "DaemonSet"): workload_checks.daemon_set,
    ("apps", "Deployment"): workload_checks.deployment,
    ("batch", "CronJob"): workload_checks.cron_job,
    ("batch", "Job"): workload_checks.job,
    ("coordination.k8s.io", "Lease"): lease,
    ("node.k8s.io", "RuntimeClass"): runtime_class,
    (_RBAC, "ClusterRole"): role,
    (_RBAC, "Role"): role,
    (_RBAC, "ClusterRoleBinding"): cluster_role_binding,
    (_RBAC, "RoleBinding"): role_binding,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): policy_checks.policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): policy_checks.binding,
}
