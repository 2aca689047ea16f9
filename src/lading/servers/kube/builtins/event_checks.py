"""What events must keep, in each of their two API groups.

Those of events.k8s.io are held to more than those of the core group, but only when they are new.
"""

from collections.abc import Iterator

from lading.servers.kube.schema import causes, names
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

NOTE_BYTES_MAX = 1024
SERIES_COUNT_MIN = 2
_TEXTS_CHARACTERS_MAX = {"reportingInstance": 128, "action": 128, "reason": 128}
_DEPRECATED = {
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}
_TYPES = ("Normal", "Warning")


def core(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _same_namespace(document, "involvedObject")


def event(document: Document, old: Document | None) -> Iterator[Cause]:
    yield from _same_namespace(document, "regarding")
    if old is None:
        yield from _new(document)


def _same_namespace(document: Document, key: str) -> Iterator[Cause]:
    given = (document.get(key) or {}).get("namespace") or ""
    if (given or "default") != document["metadata"].get("namespace", ""):
        yield causes.invalid("involvedObject.namespace", given, "does not match event.namespace")


def _new(document: Document) -> Iterator[Cause]:
    if not document.get("eventTime"):
        yield causes.required("eventTime")
        return
    series = document.get("series")
    if series is not None and (series.get("count") or 0) < SERIES_COUNT_MIN:
        detail = f"should be at least {SERIES_COUNT_MIN}"
        yield causes.invalid("series.count", "", detail)
    controller = document.get("reportingController") or ""
    if not controller:
        yield causes.required("reportingController")
    for sentence in names.qualified_name(controller):
        yield causes.invalid("reportingController", controller, sentence)
    for key, limit in _TEXTS_CHARACTERS_MAX.items():
        if not document.get(key):
            yield causes.required(key)
        elif len(document[key]) > limit:
            yield causes.invalid(key, "", f"can have at most {limit} characters")
    if len((document.get("note") or "").encode()) > NOTE_BYTES_MAX:
        yield causes.invalid("message", "", f"can have at most {NOTE_BYTES_MAX} characters")
    kind = document.get("type") or ""
    if kind not in _TYPES:
        yield causes.invalid("type", "", f"has invalid value: {kind}")
    for key, field in _DEPRECATED.items():
        if document.get(key):
            yield causes.invalid(field, "", "needs to be unset")
