"""Forgets events an hour after they were last written, as kube-apiserver does.

It looks only when another event is written: a quiet server has nothing to forget.
"""

from collections import OrderedDict
from datetime import datetime, timedelta

from lading.servers.kube import event_forms
from lading.servers.kube.state import State
from lading.servers.kube.storage.types import Change, Key

KEPT = timedelta(hours=1)  # kube-apiserver's --event-ttl


class EventExpiry:
    def __init__(self, state: State) -> None:
        self._state = state
        self._written: OrderedDict[Key, datetime] = OrderedDict()
        for record in state.storage.list(
            event_forms.STORAGE_NAME, namespace="", at=state.storage.revision, after=None
        ):
            self._written[record.key] = state.clock.now()

    def changed(self, change: Change) -> None:
        key = change.record.key
        if key.resource != event_forms.STORAGE_NAME:
            return
        self._written.pop(key, None)
        if not change.deleted:
            self._written[key] = self._state.clock.now()
            self._forget_old()

    def _forget_old(self) -> None:
        oldest_kept = self._state.clock.now() - KEPT
        while self._written:
            key, written = next(iter(self._written.items()))
            if written > oldest_kept:
                return
            del self._written[key]
            record = self._state.storage.get(key)
            if record is not None:
                self._state.storage.delete(key, record.body)
