"""What `kubectl get events` shows, for the old and the new form of events alike."""

from datetime import datetime
from typing import Any

from lading.servers.kube.builtins import ages
from lading.servers.kube.schema.nodes import Document


def last_seen(event: Document, now: datetime) -> str:
    series = event.get("series") or {}
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    last = series.get("lastObservedTime") or last
    return ages.age(last, now) if last else first_seen(event, now)


def first_seen(event: Document, now: datetime) -> str:
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")
    return ages.age(first or event.get("eventTime"), now)


def subject(event: Document) -> str:
    about = _about(event)
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def subobject(event: Document) -> str:
    return str(_about(event).get("fieldPath", ""))


def source(event: Document) -> str:
    given = event.get("source") or event.get("deprecatedSource") or {}
    component = given.get("component") or event.get("reportingComponent")
    component = component or event.get("reportingController") or ""
    host = given.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {host}" if host else str(component)


def message(event: Document) -> str:
    return str(event.get("message") or event.get("note") or "").strip()


def count(event: Document) -> int:
    series = event.get("series") or {}
    return series.get("count") or event.get("count") or event.get("deprecatedCount") or 1


def _about(event: Document) -> Any:
    return event.get("involvedObject") or event.get("regarding") or {}
