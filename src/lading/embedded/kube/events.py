"""Events exist in two groups, core and events.k8s.io; they are stored in the form of the first.

An answer also has the fields that are not set, because `kubectl get events
--sort-by=.lastTimestamp` refuses a list in which no event has that field.
"""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Any

from lading.embedded.kube.storage.memory import Change, Key, MemoryStorage
from lading.ports.clock import Clock

Document = dict[str, Any]

GROUP = "events.k8s.io"
STORAGE_NAME = "events"
KEPT = timedelta(hours=1)  # kube-apiserver's --event-ttl
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
    """The event with all fields, also those that are not set."""
    return _empty(document) | document


def kept(document: Document) -> Document:
    """The event without the fields that are not set, for storage."""
    empty = _empty(document)
    return {key: value for key, value in document.items() if value != empty.get(key, _ABSENT)}


def _empty(document: Document) -> Document:
    return _EMPTY if document.get("apiVersion") == "v1" else _EMPTY_OF_GROUP


def from_core(document: Document) -> Document:
    renamed = {_RENAMED.get(key, key): value for key, value in document.items()}
    return {**renamed, "apiVersion": f"{GROUP}/v1"}


def to_core(document: Document) -> Document:
    renamed = {_RENAMED_BACK.get(key, key): value for key, value in document.items()}
    return {**renamed, "apiVersion": "v1"}


class EventExpiry:
    """Deletes events an hour after their last write, whenever another event is written."""

    def __init__(self, storage: MemoryStorage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._written: OrderedDict[Key, datetime] = OrderedDict()
        for record in storage.list(STORAGE_NAME, namespace="", at=storage.revision, after=None):
            self._written[record.key] = clock.now()

    def changed(self, change: Change) -> None:
        key = change.record.key
        if key.resource != STORAGE_NAME:
            return
        self._written.pop(key, None)
        if not change.deleted:
            self._written[key] = self._clock.now()
            self._forget_old()

    def _forget_old(self) -> None:
        oldest_kept = self._clock.now() - KEPT
        while self._written:
            key, written = next(iter(self._written.items()))
            if written > oldest_kept:
                return
            del self._written[key]
            record = self._storage.get(key)
            if record is not None:
                self._storage.delete(key, record.body)
