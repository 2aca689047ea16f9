"""What jobs and cron jobs must keep: a schedule, counts, pods that end, what may change."""

import zoneinfo
from collections.abc import Iterator

from lading.kernel import cron
from lading.kernel.errors import Malformed
from lading.servers.kube.builtins import amounts, pod_checks
from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

CRON_JOB_NAME_CHARACTERS_MAX = 52
"""A job's name is a DNS label, and its cron job adds the time to it."""
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
)
_CRON_COUNTS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_SCHEDULING = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
"""What a queue may still write into the pods of a job."""


def job(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    yield from _job(spec, "spec")
    yield from _own_selector(document, spec)
    if old is not None:
        yield from _changes(spec, old.get("spec") or {})


def _own_selector(document: Document, spec: Document) -> Iterator[Cause]:
    """The server selects the pods of a job, unless the job says that it does so itself."""
    selector = spec.get("selector")
    if selector is None:
        yield causes.required("spec.selector")
    uid = document["metadata"].get("uid", "")
    generated = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    if selector is not None and not spec.get("manualSelector") and selector != generated:
        yield causes.invalid("spec.selector", selector, "`selector` not auto-generated")


def _changes(spec: Document, old: Document) -> Iterator[Cause]:
    for key in ("completions", "selector"):
        if spec.get(key) != old.get(key):
            yield causes.invalid(f"spec.{key}", spec.get(key), "field is immutable")
    if _fixed_part(spec) != _fixed_part(old):
        yield causes.invalid("spec.template", spec.get("template"), "field is immutable")


def _fixed_part(spec: Document) -> Document:
    pod = (spec.get("template") or {}).get("spec") or {}
    return {key: value for key, value in pod.items() if key not in _SCHEDULING}


def cron_job(document: Document, old: Document | None) -> Iterator[Cause]:
    name = document["metadata"].get("name", "")
    if len(name) > CRON_JOB_NAME_CHARACTERS_MAX:
        detail = f"must be no more than {CRON_JOB_NAME_CHARACTERS_MAX} characters"
        yield causes.invalid("metadata.name", name, detail)
    spec = document.get("spec") or {}
    yield from _schedule(spec)
    yield from amounts.negative(spec, _CRON_COUNTS, "spec")
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    field = "spec.jobTemplate.spec"
    if template.get("selector") is not None:
        detail = "`selector` will be auto-generated"
        yield causes.invalid(f"{field}.selector", template["selector"], detail)
    if template.get("manualSelector"):
        yield causes.not_supported(f"{field}.manualSelector", True, ("nil", "false"))
    yield from _job(template, field)


def _schedule(spec: Document) -> Iterator[Cause]:
    schedule, zone = str(spec.get("schedule") or ""), spec.get("timeZone")
    if not schedule:
        yield causes.required("spec.schedule")
    elif "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield causes.invalid("spec.schedule", schedule, detail)
    elif detail := _schedule_problem(schedule):
        yield causes.invalid("spec.schedule", schedule, detail)
    if zone is not None and (detail := _zone_problem(zone)):
        yield causes.invalid("spec.timeZone", zone, detail)


def _schedule_problem(schedule: str) -> str:
    try:
        cron.parse(schedule)
    except Malformed as error:
        return error.reason
    return ""


def _zone_problem(zone: str) -> str:
    if not zone:
        return "timeZone must be nil or non-empty string"
    if zone.lower() == "local":
        names = "https://www.iana.org/time-zones"
        return f"timeZone must be an explicit time zone as defined in {names}"
    # A machine without the data knows no zone at all, and so cannot call one unknown.
    return "" if _zone_is_known(zone) or not _zone_is_known("UTC") else f"unknown time zone {zone}"


def _zone_is_known(zone: str) -> bool:
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _job(spec: Document, field: str) -> Iterator[Cause]:
    yield from amounts.negative(spec, _COUNTS, field)
    template = spec.get("template") or {}
    yield from pod_checks.template(template, f"{field}.template")
    if (template.get("spec") or {}).get("restartPolicy") not in ("OnFailure", "Never"):
        detail = 'valid values: "OnFailure", "Never"'
        yield causes.required(f"{field}.template.spec.restartPolicy", detail)
