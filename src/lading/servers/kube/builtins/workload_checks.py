"""What pods and the workloads that make them must keep: containers, selectors, what may change."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector
from lading.servers.kube.builtins import amounts, metadata, pod_checks
from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

_CHANGEABLE_IN_POD = ("activeDeadlineSeconds", "schedulingGates", "tolerations")
_CONTAINERS = ("containers", "initContainers")
_POD_IS_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)
_TOLERATIONS_STAY = "existing toleration can not be modified except its tolerationSeconds"
_GATES_FIRST = "cannot be set until all schedulingGates have been cleared"
_NONE = (0, "0%")
_COUNTS = ("minReadySeconds", "revisionHistoryLimit")
_ROLLING = ("maxUnavailable", "maxSurge")
_PERCENT = re.compile(r"[0-9]{1,9}%")
_NOT_A_PERCENTAGE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)


def pod(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from pod_checks.problems(spec, "spec")
    if old is None and spec.get("nodeName") and spec.get("schedulingGates"):
        yield causes.forbidden("spec.nodeName", _GATES_FIRST)
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
    yield from _new_gates(spec, old)
    ignored = _changeable(old)
    if _fixed_part(spec, ignored) != _fixed_part(old, ignored):
        yield causes.forbidden("spec", _POD_IS_FIXED)


def _new_gates(spec: Document, old: Document) -> Iterator[Cause]:
    """A gate keeps a pod from being scheduled; it can be removed, and never comes later."""
    known = [each.get("name") for each in old.get("schedulingGates") or ()]
    for index, each in enumerate(spec.get("schedulingGates") or ()):
        if each.get("name") not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{each.get('name')}'"
            yield causes.forbidden(f"spec.schedulingGates[{index}].name", detail)


def _changeable(old: Document) -> tuple[str, ...]:
    """The node is set once, through its binding; a negative grace period is corrected once."""
    is_negative = (old.get("terminationGracePeriodSeconds") or 0) < 0
    corrected = ("terminationGracePeriodSeconds",) if is_negative else ()
    is_fixed = old.get("nodeName") or old.get("schedulingGates")
    bound = () if is_fixed else ("nodeName",)
    return (*_CHANGEABLE_IN_POD, *corrected, *bound)


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
    spec = document.get("spec") or {}
    yield from _selector(spec, old, "daemonset")
    yield from _template(spec)
    yield from amounts.negative(spec, _COUNTS, "spec")
    pods = (spec.get("template") or {}).get("spec") or {}
    if pods.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in DaemonSet is not Supported"
        yield causes.forbidden("spec.template.spec.activeDeadlineSeconds", detail)
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate")
    if rolling is not None:
        yield from _rolling_of_daemon_set(rolling, "spec.updateStrategy.rollingUpdate")


def _rolling_of_daemon_set(rolling: Document, field: str) -> Iterator[Cause]:
    """Either a pod goes before its successor comes, or it comes before the pod goes."""
    gone, surge = (rolling.get(key) or 0 for key in _ROLLING)
    yield from _rolling(rolling, field)
    if gone not in _NONE and surge not in _NONE:
        detail = "may not be set when maxUnavailable is non-zero"
        yield causes.invalid(f"{field}.maxSurge", surge, detail)
    elif gone in _NONE and surge in _NONE:
        yield causes.required(f"{field}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def deployment(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from amounts.negative(spec, ("replicas", *_COUNTS), "spec")
    yield from _selector(spec, old, "deployment")
    yield from _template(spec)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        detail = "must be greater than minReadySeconds"
        yield causes.invalid("spec.progressDeadlineSeconds", deadline, detail)
    strategy = spec.get("strategy") or {}
    rolling, field = strategy.get("rollingUpdate"), "spec.strategy.rollingUpdate"
    if rolling is None:
        return
    if strategy.get("type") == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        yield causes.forbidden(field, detail)
    yield from _rolling(rolling, field)
    if all((rolling.get(key) or 0) in _NONE for key in _ROLLING):
        detail = "may not be 0 when `maxSurge` is 0"
        yield causes.invalid(f"{field}.maxUnavailable", rolling.get("maxUnavailable", 0), detail)


def _rolling(rolling: Document, field: str) -> Iterator[Cause]:
    """How many pods may be missing or in excess: a count, or a share of them all."""
    for key in _ROLLING:
        amount = rolling.get(key) or 0
        if isinstance(amount, int):
            yield from amounts.negative(rolling, (key,), field)
        elif not _PERCENT.fullmatch(amount):
            yield causes.invalid(f"{field}.{key}", amount, _NOT_A_PERCENTAGE)
        elif key == "maxUnavailable" and int(amount[:-1]) > 100:
            yield causes.invalid(f"{field}.{key}", amount, "must not be greater than 100%")


def _template(spec: Document) -> Iterator[Cause]:
    template = spec.get("template") or {}
    yield from pod_checks.template(template, "spec.template")
    policy = (template.get("spec") or {}).get("restartPolicy", "Always")
    if policy != "Always":
        yield causes.not_supported("spec.template.spec.restartPolicy", policy, ("Always",))


def _selector(spec: Document, old: Document | None, kind: str) -> Iterator[Cause]:
    selector, field = spec.get("selector"), "spec.selector"
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    wrong = list(_terms(selector or {}, field))
    yield from wrong
    if selector is not None and not (
        selector.get("matchLabels") or selector.get("matchExpressions")
    ):
        yield causes.invalid(field, {}, f"empty selector is invalid for {kind}")
    elif not wrong and not _matches(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        yield causes.invalid("spec.template.metadata.labels", labels, detail)
    if old is not None and selector != (old.get("spec") or {}).get("selector"):
        yield causes.invalid(field, selector, "field is immutable")


def _terms(selector: Document, field: str) -> Iterator[Cause]:
    yield from metadata.labels(selector.get("matchLabels"), f"{field}.matchLabels")
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        place, operator = f"{field}.matchExpressions[{index}]", each.get("operator", "")
        match operator:
            case "In" | "NotIn" if not each.get("values"):
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                yield causes.required(f"{place}.values", detail)
            case "Exists" | "DoesNotExist" if each.get("values"):
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield causes.forbidden(f"{place}.values", detail)
            case "In" | "NotIn" | "Exists" | "DoesNotExist":
                pass
            case _:
                detail = "not a valid selector operator"
                yield causes.invalid(f"{place}.operator", operator, detail)


def _matches(selector: Any, labels: dict[str, str]) -> bool:
    if selector is None:
        return False
    try:
        return Selector.of(msgspec.convert(selector, LabelSelector)).matches(labels)
    except (Malformed, msgspec.ValidationError):
        return False
