"""Events have two forms, in the core group and in events.k8s.io; they are stored in the first.

An answer has the fields that are not set as well, as kube-apiserver writes them: `kubectl get
events --sort-by=.lastTimestamp` refuses a list in which no event has that field.
"""

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
_ABSENT = object()
_EMPTY: Document = {
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_EMPTY_OF_GROUP: Document = {
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
    "eventTime": None,
}


def answered(document: Document) -> Document:
    """An event of either form with the fields that are not set."""
    return _empty(document) | document


def kept(document: Document) -> Document:
    """The event without them: a client sends back what it read."""
    empty = _empty(document)
    return {key: value for key, value in document.items() if value != empty.get(key, _ABSENT)}


def _empty(document: Document) -> Document:
    return _EMPTY if document["apiVersion"] == "v1" else _EMPTY_OF_GROUP


def from_core(document: Document) -> Document:
    renamed = {_RENAMED.get(key, key): value for key, value in document.items()}
    return {**renamed, "apiVersion": f"{GROUP}/v1"}


def to_core(document: Document) -> Document:
    renamed = {_RENAMED_BACK.get(key, key): value for key, value in document.items()}
    return {**renamed, "apiVersion": "v1"}
