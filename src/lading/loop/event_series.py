"""What an event says, as values, and how it is written down; no I/O.

A record is what makes two events the same; a series is how often it was seen.
"""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from lading.api.events import EVENTS, ObjectReference
from lading.kernel import conditions
from lading.kernel.objects import Object, Resource

NOTE_BYTES_MAX = 1024  # the API's limit
NAME_CHARACTERS_MAX = 236  # leaves room for the suffix in the API's limit of 253
CLUSTER_SCOPED_NAMESPACE = "default"  # where events about cluster-scoped objects live


class Severity(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two events the same."""

    regarding: ObjectReference
    severity: Severity
    reason: str
    action: str
    note: str

    @property
    def namespace(self) -> str:
        return self.regarding.namespace or CLUSTER_SCOPED_NAMESPACE


class Series(msgspec.Struct, kw_only=True):
    """How often a record was seen; the only thing here that changes."""

    first_at: datetime
    last_at: datetime
    count: int = 1
    is_written: bool = False


def reference(resource: Resource[Any], one: Object) -> ObjectReference:
    """How an event points at an object."""
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=one.metadata.namespace,
        name=one.metadata.name,
        uid=one.metadata.uid,
    )


def event_name(record: EventRecord, series: Series) -> str:
    """The same series always has the same name, so that a repeated create is harmless."""
    fact = f"{record!r} {series.first_at.isoformat()}"
    suffix = hashlib.sha256(fact.encode()).hexdigest()[:16]
    name = record.regarding.name[:NAME_CHARACTERS_MAX].rstrip("-.")
    return f"{name}.{suffix}"


def event_body(
    record: EventRecord, series: Series, *, controller: str, instance: str
) -> dict[str, Any]:
    body = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": event_name(record, series), "namespace": record.namespace},
        "eventTime": conditions.micro_timestamp(series.first_at),
        "reportingController": controller,
        "reportingInstance": instance,
        "type": str(record.severity),
        "reason": record.reason,
        "action": record.action,
        "note": record.note,
        "regarding": msgspec.to_builtins(record.regarding),
    }
    return body | ({"series": series_body(series)} if series.count > 1 else {})


def series_body(series: Series) -> dict[str, Any]:
    last = conditions.micro_timestamp(series.last_at)
    return {"count": series.count, "lastObservedTime": last}
