"""Checks of built-in kinds beyond their schemas, for the kinds that something here runs or reads.

They keep invalid pods, workloads and policies away from the embedded controllers. kube-apiserver
checks much more: a manifest that is accepted here can still be refused by a cluster.
"""

import re
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from lading.embedded.kube.admission import expressions
from lading.embedded.kube.builtins import metadata
from lading.embedded.kube.schema import causes, names
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.schema.cel import DoesNotCompile
from lading.embedded.kube.schema.nodes import Document
from lading.kernel import cron
from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector

Check = Callable[[Document, Document | None], Iterator[Cause]]
CRON_JOB_NAME_CHARACTERS_MAX = 52
"""The name of a job is a DNS label, and its cron job appends the time."""
EVENT_NOTE_BYTES_MAX = 1024
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_CONTAINERS = ("initContainers", "containers")
_CHANGEABLE_IN_POD = ("activeDeadlineSeconds", "schedulingGates", "tolerations")
_CHANGEABLE_IN_JOB = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
_JOB_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
)
_CRON_COUNTS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_EVENT_FIELDS = ("eventTime", "reportingController", "reportingInstance", "action", "reason")
_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"


def problems(group: str, kind: str, document: Document, old: Document | None) -> list[Cause]:
    """Every problem of an object; empty for a kind without checks."""
    check = _CHECKS.get((group, kind))
    return list(check(document, old)) if check else []


def _data(document: Document, old: Document | None) -> Iterator[Cause]:
    """ConfigMaps and Secrets: valid keys, and no change of immutable objects."""
    for field in ("data", "binaryData"):
        for key in document.get(field) or ():
            if not _DATA_KEY.fullmatch(key) or key == "." or key.startswith(".."):
                detail = "a valid config key must consist of alphanumeric characters, '-', '_', '.'"
                yield causes.invalid(f"{field}[{key}]", key, detail)
    if old is None or not old.get("immutable"):
        return
    for field in ("immutable", "data", "binaryData"):
        if document.get(field) != old.get(field):
            yield causes.forbidden(field, "field is immutable when `immutable` is set")


def _secret(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _data(document, old)
    if document.get("type") == "kubernetes.io/dockerconfigjson":
        yield from _required(document.get("data") or {}, (".dockerconfigjson",), "data[{}]")
    yield from _fixed(document, old, "type")


def _runtime_class(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _required(document, ("handler",))
    yield from _fixed(document, old, "handler")


def _role_binding(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _required(document.get("roleRef") or {}, ("kind", "name"), "roleRef.{}")
    if old is not None and document.get("roleRef") != old.get("roleRef"):
        yield causes.invalid("roleRef", document.get("roleRef"), "cannot change roleRef")


def _event(document: Document, old: Document | None) -> Iterator[Cause]:
    """An event of events.k8s.io has more required fields, but only at creation."""
    about = document.get("involvedObject") or document.get("regarding") or {}
    namespace = about.get("namespace") or ""
    if (namespace or "default") != document["metadata"].get("namespace", ""):
        detail = "does not match event.namespace"
        yield causes.invalid("involvedObject.namespace", namespace, detail)
    if old is None and document.get("apiVersion") != "v1":
        yield from _required(document, _EVENT_FIELDS)
        if len((document.get("note") or "").encode()) > EVENT_NOTE_BYTES_MAX:
            detail = f"can have at most {EVENT_NOTE_BYTES_MAX} characters"
            yield causes.invalid("message", "", detail)


def _pod(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from _pod_spec(spec, "spec")
    if old is not None:
        yield from _pod_changes(spec, old.get("spec") or {})
    elif spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield causes.forbidden("spec.nodeName", detail)


def _pod_spec(spec: Document, field: str) -> Iterator[Cause]:
    volumes = [volume.get("name") for volume in spec.get("volumes") or ()]
    yield from _required(spec, ("containers",), f"{field}.{{}}")
    seen: set[str] = set()
    for key in _CONTAINERS:
        for index, container in enumerate(spec.get(key) or ()):
            place, name = f"{field}.{key}[{index}]", container.get("name") or ""
            yield from _required(container, ("name", "image"), f"{place}.{{}}")
            for sentence in names.dns_1123_label(name) if name else ():
                yield causes.invalid(f"{place}.name", name, sentence)
            if name in seen:
                yield causes.duplicate(f"{place}.name", name)
            seen |= {name} - {""}
            for number, mount in enumerate(container.get("volumeMounts") or ()):
                if mount.get("name") not in volumes:
                    yield causes.not_found(
                        f"{place}.volumeMounts[{number}].name", mount.get("name")
                    )
    yield from metadata.labels(spec.get("nodeSelector"), f"{field}.nodeSelector")


def _pod_changes(spec: Document, old: Document) -> Iterator[Cause]:
    """An update may set the node once, change images, remove gates and add tolerations."""
    gates = [each.get("name") for each in old.get("schedulingGates") or ()]
    for index, each in enumerate(spec.get("schedulingGates") or ()):
        if each.get("name") not in gates:
            detail = f"only deletion is allowed, but found new scheduling gate '{each.get('name')}'"
            yield causes.forbidden(f"spec.schedulingGates[{index}].name", detail)
    kept = [_without(each, "tolerationSeconds") for each in spec.get("tolerations") or ()]
    if any(
        _without(each, "tolerationSeconds") not in kept for each in old.get("tolerations") or ()
    ):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        yield causes.forbidden("spec.tolerations", detail)
    is_bound = old.get("nodeName") or gates
    changeable = (*_CHANGEABLE_IN_POD, *(() if is_bound else ("nodeName",)))
    if _fixed_part(spec, changeable) != _fixed_part(old, changeable):
        detail = "pod updates may not change fields other than images, tolerations and deadlines"
        yield causes.forbidden("spec", detail)


def _fixed_part(spec: Document, changeable: tuple[str, ...]) -> Document:
    fixed = _without(spec, *changeable)
    for key in _CONTAINERS:
        fixed[key] = [_without(each, "image") for each in spec.get(key) or ()]
    return fixed


def _daemon_set(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from _template(spec, "spec", policies=("Always",))
    yield from _fixed(spec, old and old.get("spec"), "selector", "spec.selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not _selects(spec.get("selector"), labels):
        detail = "`selector` does not match template `labels`"
        yield causes.invalid("spec.template.metadata.labels", labels, detail)
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate")
    if rolling is None:
        return
    gone, surge = (
        rolling.get(key) not in (None, 0, "0%") for key in ("maxUnavailable", "maxSurge")
    )
    if gone == surge:
        detail = "exactly one of maxUnavailable and maxSurge must be 0"
        yield causes.invalid("spec.updateStrategy.rollingUpdate", rolling, detail)


def _selects(selector: Any, labels: dict[str, str]) -> bool:
    if not selector:
        return False
    try:
        return Selector.of(msgspec.convert(selector, LabelSelector)).matches(labels)
    except (Malformed, msgspec.ValidationError):
        return False


def _job(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from _job_spec(spec, "spec")
    uid = document["metadata"].get("uid", "")
    generated = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    if not spec.get("manualSelector") and spec.get("selector") != generated:
        yield causes.invalid("spec.selector", spec.get("selector"), "`selector` not auto-generated")
    yield from _required(spec, ("selector",), "spec.{}")
    if old is None:
        return
    before = old.get("spec") or {}
    yield from _fixed(spec, before, "completions", "spec.completions")
    yield from _fixed(spec, before, "selector", "spec.selector")
    if _job_pod(spec) != _job_pod(before):
        yield causes.invalid("spec.template", spec.get("template"), "field is immutable")


def _job_pod(spec: Document) -> Document:
    return _without((spec.get("template") or {}).get("spec") or {}, *_CHANGEABLE_IN_JOB)


def _job_spec(spec: Document, field: str) -> Iterator[Cause]:
    yield from _below_minimum(spec, _JOB_COUNTS, field)
    yield from _template(spec, field, policies=("OnFailure", "Never"))


def _template(spec: Document, field: str, *, policies: tuple[str, ...]) -> Iterator[Cause]:
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    yield from metadata.labels(labels, f"{field}.template.labels")
    pod = template.get("spec") or {}
    yield from _pod_spec(pod, f"{field}.template.spec")
    policy = pod.get("restartPolicy", "Always")
    if policy not in policies:
        yield causes.not_supported(f"{field}.template.spec.restartPolicy", policy, policies)


def _cron_job(document: Document, old: Document | None) -> Iterator[Cause]:
    name, spec = document["metadata"].get("name", ""), document.get("spec") or {}
    if len(name) > CRON_JOB_NAME_CHARACTERS_MAX:
        detail = f"must be no more than {CRON_JOB_NAME_CHARACTERS_MAX} characters"
        yield causes.invalid("metadata.name", name, detail)
    yield from _required(spec, ("schedule",), "spec.{}")
    if spec.get("schedule") and (detail := _schedule_problem(spec["schedule"])):
        yield causes.invalid("spec.schedule", spec["schedule"], detail)
    if not _zone_is_known(spec.get("timeZone", "UTC")) and _zone_is_known("UTC"):
        yield causes.invalid("spec.timeZone", spec["timeZone"], "unknown time zone")
    yield from _below_minimum(spec, _CRON_COUNTS, "spec")
    yield from _job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")


def _schedule_problem(schedule: str) -> str:
    if "TZ" in schedule:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    try:
        cron.parse(schedule)
    except Malformed as error:
        return error.reason
    return ""


def _zone_is_known(zone: str) -> bool:
    """False for every zone on a machine without time zone data."""
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return zone.lower() != "local"


def _policy(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or ()
    if not rules:
        yield causes.required("spec.matchConstraints.resourceRules")
    for index, rule in enumerate(rules):
        place = f"spec.matchConstraints.resourceRules[{index}].{{}}"
        yield from _required(rule, ("operations", "apiGroups", "apiVersions", "resources"), place)
    for key, wanted in (("matchConditions", "bool"), ("variables", ""), ("validations", "bool")):
        for index, each in enumerate(spec.get(key) or ()):
            field = f"spec.{key}[{index}]"
            if key != "validations":
                yield from _required(each, ("name",), f"{field}.{{}}")
            yield from _expression(each.get("expression", ""), f"{field}.expression", wanted)
            if message := each.get("messageExpression"):
                yield from _expression(message, f"{field}.messageExpression", "string")
    yield from _required(spec, ("validations",), "spec.{}")


def _expression(text: str, field: str, wanted: str) -> Iterator[Cause]:
    if not text.strip():
        yield causes.required(field, "expression is not specified")
        return
    try:
        found = expressions.compiled(text).return_type
    except DoesNotCompile as error:
        yield causes.invalid(field, text, error.message)
        return
    if wanted and found != wanted:
        yield causes.invalid(field, text, f"must evaluate to {wanted} but got {found}")


def _policy_binding(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from _required(spec, ("policyName", "validationActions"), "spec.{}")
    reference = spec.get("paramRef")
    if reference is not None:
        yield from _required(reference, ("parameterNotFoundAction",), "spec.paramRef.{}")
        if not reference.get("name") and reference.get("selector") is None:
            yield causes.required("spec.paramRef", "one of name or selector must be specified")


def _required(holder: Document, keys: tuple[str, ...], place: str = "{}") -> Iterator[Cause]:
    for key in keys:
        if not holder.get(key):
            yield causes.required(place.format(key))


def _fixed(document: Document, old: Document | None, key: str, field: str = "") -> Iterator[Cause]:
    if old is not None and document.get(key) != old.get(key):
        yield causes.invalid(field or key, document.get(key), "field is immutable")


def _below_minimum(holder: Document, keys: tuple[str, ...], field: str) -> Iterator[Cause]:
    for key in keys:
        if (holder.get(key) or 0) < 0:
            yield causes.invalid(
                f"{field}.{key}", holder[key], "must be greater than or equal to 0"
            )


def _without(document: Document, *keys: str) -> Document:
    return {key: value for key, value in document.items() if key not in keys}


_CHECKS: dict[tuple[str, str], Check] = {
    ("", "ConfigMap"): _data,
    ("", "Event"): _event,
    ("", "Pod"): _pod,
    ("", "Secret"): _secret,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("events.k8s.io", "Event"): _event,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    (_RBAC, "ClusterRoleBinding"): _role_binding,
    (_RBAC, "RoleBinding"): _role_binding,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _policy_binding,
}
