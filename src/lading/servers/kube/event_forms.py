"""Events have two forms, in the core group and in events.k8s.io; they are stored in the first."""

from typing import Any

Document = dict[str, Any]

GROUP = "events.k8s.io"
STORAGE_NAME = "events"
_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_RENAMED_BACK = {new: old for old, new in _RENAMED.items()}


def from_core(document: Document) -> Document:
    renamed = {_RENAMED.get(key, key): value for key, value in document.items()}
    return {**renamed, "apiVersion": f"{GROUP}/v1"}


def to_core(document: Document) -> Document:
    renamed = {_RENAMED_BACK.get(key, key): value for key, value in document.items()}
    return {**renamed, "apiVersion": "v1"}
