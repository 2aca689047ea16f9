"""What built-in kinds must keep beyond their schemas: small functions named by kind.

These are the rules that people and our features meet, in kube-apiserver's words; it has many
more. Kinds with more of them have a module of their own.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator

from lading.servers.kube.builtins import (
    amounts,
    batch_checks,
    event_checks,
    policy_checks,
    rbac_checks,
    workload_checks,
)
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
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield causes.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    yield from amounts.negative(spec, ("leaseTransitions",), "spec")


def runtime_class(document: Document, old: Document | None) -> Iterator[Cause]:
    handler = document.get("handler") or ""
    if not handler:
        yield causes.required("handler")
        return
    for sentence in names.dns_1123_label(handler):
        yield causes.invalid("handler", handler, sentence)
    if old is not None and handler != old.get("handler"):
        yield causes.invalid("handler", handler, "field is immutable")


def node(document: Document, old: Document | None) -> Iterator[Cause]:
    """kube-apiserver says `metadata.taints`, though they are in the spec."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((document.get("spec") or {}).get("taints") or ()):
        field, key, effect = (
            f"metadata.taints[{index}]",
            taint.get("key") or "",
            taint.get("effect"),
        )
        for sentence in names.qualified_name(key):
            yield causes.invalid(f"{field}.key", key, sentence)
        if not effect:
            yield causes.required(f"{field}.effect")
        if (key, effect) in seen:
            yield causes.duplicate(field, taint, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def service(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    is_headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and spec.get("type") != "ExternalName" and not is_headless:
        yield causes.required("spec.ports")


_CHECKS: dict[tuple[str, str], Check] = {
    ("", "ConfigMap"): config_map,
    ("", "Event"): event_checks.core,
    ("", "Node"): node,
    ("", "Pod"): workload_checks.pod,
    ("", "Secret"): secret,
    ("", "Service"): service,
    ("apps", "DaemonSet"): workload_checks.daemon_set,
    ("apps", "Deployment"): workload_checks.deployment,
    ("batch", "CronJob"): batch_checks.cron_job,
    ("batch", "Job"): batch_checks.job,
    ("coordination.k8s.io", "Lease"): lease,
    ("events.k8s.io", "Event"): event_checks.event,
    ("node.k8s.io", "RuntimeClass"): runtime_class,
    (_RBAC, "ClusterRole"): rbac_checks.cluster_role,
    (_RBAC, "Role"): rbac_checks.role,
    (_RBAC, "ClusterRoleBinding"): rbac_checks.cluster_role_binding,
    (_RBAC, "RoleBinding"): rbac_checks.role_binding,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): policy_checks.policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): policy_checks.binding,
}
