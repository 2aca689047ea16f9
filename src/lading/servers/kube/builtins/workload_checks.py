"""What pods and the workloads that make them must keep: containers, selectors, what may change."""

from collections.abc import Iterator
from typing import Any

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector
from lading.servers.kube.builtins import pod_checks
from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

_CHANGEABLE_IN_POD = ("activeDeadlineSeconds", "tolerations")
_CONTAINERS = ("containers", "initContainers")
_POD_IS_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)
_TOLERATIONS_STAY = "existing toleration can not be modified except its tolerationSeconds"
_NONE = (0, "0%")
_CRON_FIELDS = 5
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def pod(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from pod_checks.problems(spec, "spec")
    if old is not None:
        yield from _changes_of_pod(spec, old.get("spec") or {})


def _changes_of_pod(spec: Document, old: Document) -> Iterator[Cause]:
    resized = [key for key in _CONTAINERS if len(spec.get(key) or ()) != len(old.get(key) or ())]
    for key in resized:
        yield causes.forbidden(f"spec.{key}", "pod updates may not add or remove containers")
    if resized:
        return
    kept = [_without_time(each) for each in spec.get("tolerations") or ()]
    if any(_without_time(each) not in kept for each in old.get("tolerations") or ()):
        yield causes.forbidden("spec.tolerations", _TOLERATIONS_STAY)
    ignored = _changeable(old)
    if _fixed_part(spec, ignored) != _fixed_part(old, ignored):
        yield causes.forbidden("spec", _POD_IS_FIXED)


def _changeable(old: Document) -> tuple[str, ...]:
    """The node is set once, through its binding; a negative time to end is mended once."""
    is_negative = (old.get("terminationGracePeriodSeconds") or 0) < 0
    mended = ("terminationGracePeriodSeconds",) if is_negative else ()
    bound = () if old.get("nodeName") else ("nodeName",)
    return (*_CHANGEABLE_IN_POD, *mended, *bound)


def _without_time(toleration: Document) -> Document:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _fixed_part(spec: Document, ignored: tuple[str, ...]) -> Document:
    """What of a pod's spec never changes."""
    fixed = {key: value for key, value in spec.items() if key not in ignored}
    for key in _CONTAINERS:
        fixed[key] = [
            {name: value for name, value in each.items() if name != "image"}
            for each in spec.get(key) or ()
        ]
    return fixed


def daemon_set(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _selector(document, old, "daemonset")
    yield from _template(document)
    rolling = ((document.get("spec") or {}).get("updateStrategy") or {}).get("rollingUpdate") or {}
    if rolling and all(rolling.get(key) in _NONE for key in ("maxUnavailable", "maxSurge")):
        field = "spec.updateStrategy.rollingUpdate.maxUnavailable"
        yield causes.required(field, "cannot be 0 when maxSurge is 0")


def deployment(document: Document, old: Document | None) -> Iterator[Cause]:
    replicas = (document.get("spec") or {}).get("replicas")
    if isinstance(replicas, int) and replicas < 0:
        detail = "must be greater than or equal to 0"
        yield causes.invalid("spec.replicas", replicas, detail)
    yield from _selector(document, old, "deployment")
    yield from _template(document)


def job(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from _finite_template(spec, "spec")
    if old is not None and spec.get("completions") != old["spec"].get("completions"):
        yield causes.invalid("spec.completions", spec.get("completions"), "field is immutable")


def cron_job(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    schedule = str(spec.get("schedule") or "")
    fields = schedule.split()
    if not schedule:
        yield causes.required("spec.schedule")
    elif len(fields) != _CRON_FIELDS and not schedule.startswith("@"):
        detail = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        yield causes.invalid("spec.schedule", schedule, detail)
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    yield from _finite_template(template, "spec.jobTemplate.spec")


def _finite_template(spec: Document, field: str) -> Iterator[Cause]:
    pod_spec = (spec.get("template") or {}).get("spec") or {}
    yield from pod_checks.problems(pod_spec, f"{field}.template.spec")
    if pod_spec.get("restartPolicy") not in ("OnFailure", "Never"):
        detail = 'valid values: "OnFailure", "Never"'
        yield causes.required(f"{field}.template.spec.restartPolicy", detail)


def _template(document: Document) -> Iterator[Cause]:
    spec = ((document.get("spec") or {}).get("template") or {}).get("spec") or {}
    yield from pod_checks.problems(spec, "spec.template.spec")
    policy = spec.get("restartPolicy", "Always")
    if policy != "Always":
        yield causes.not_supported("spec.template.spec.restartPolicy", policy, ("Always",))


def _selector(document: Document, old: Document | None, kind: str) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    selector = spec.get("selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    unknown = _unknown_operators(selector)
    yield from unknown
    if selector is not None and not _terms(selector):
        yield causes.invalid("spec.selector", {}, f"empty selector is invalid for {kind}")
    elif not unknown and not _matches(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        yield causes.invalid("spec.template.metadata.labels", labels, detail)
    if old is not None and selector != (old.get("spec") or {}).get("selector"):
        yield causes.invalid("spec.selector", selector, "field is immutable")


def _unknown_operators(selector: Any) -> list[Cause]:
    found = []
    for index, each in enumerate((selector or {}).get("matchExpressions") or ()):
        if each.get("operator") not in _OPERATORS:
            field = f"spec.selector.matchExpressions[{index}].operator"
            detail = "not a valid selector operator"
            found.append(causes.invalid(field, each.get("operator", ""), detail))
    return found


def _terms(selector: Document) -> bool:
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def _matches(selector: Any, labels: dict[str, str]) -> bool:
    if selector is None:
        return False
    try:
        return Selector.of(msgspec.convert(selector, LabelSelector)).matches(labels)
    except (Malformed, msgspec.ValidationError):
        return False
