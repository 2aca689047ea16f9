"""GET with watch=true: the changes of a collection, one JSON line each, as they happen.

A watcher is a cursor over the log of its resource: it holds no queue, so a slow one costs
nothing, and gets a 410 when the log it still needs was compacted.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any

import msgspec

from lading.ports.http import Response
from lading.servers.kube import answers, negotiation, requests, selection, status
from lading.servers.kube.negotiation import Form
from lading.servers.kube.requests import Call
from lading.servers.kube.schema import causes
from lading.servers.kube.selection import Selection
from lading.servers.kube.state import Document, State, read, stamped
from lading.servers.kube.storage.types import Change, Compacted
from lading.servers.kube.wakeups import Wakeups

TIMEOUT_SECONDS_DEFAULT = 3_600
"""How long a watch lasts that names no time; kube-apiserver takes 30 to 60 minutes."""
BOOKMARK_INTERVAL_SECONDS = 60.0  # kube-apiserver's
EVENTS_BETWEEN_YIELDS = 256
"""A long history is sent without keeping others waiting."""
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def watch(state: State, wakeups: Wakeups, call: Call) -> Response:
    """Checks the request at once; the events come with the body."""
    _check_options(call)
    negotiation.form(call.headers.get("accept", ""))
    start = requests.revision_of(call.query.get("resourceVersion", ""))
    if start > state.storage.revision:
        # Nothing will ever come from there (a store that was lost): the client must list again.
        raise status.expired(f"too large resource version: {start} ({state.storage.revision})")
    oldest = state.storage.compacted
    if 0 < start < oldest:
        lines = _only(_line("ERROR", _too_old(Compacted(revision=start, oldest=oldest))))
        return Response(status=200, headers=answers.headers(call.warnings), body=lines)
    watcher = _Watcher(
        state=state,
        wakeups=wakeups,
        call=call,
        selection=selection.of(call.resource, call.query, call.target.name),
    )
    return Response(status=200, headers=answers.headers(call.warnings), body=watcher.lines(start))


def _check_options(call: Call) -> None:
    """`sendInitialEvents` is served, or refused; never ignored."""
    field_name, match = "sendInitialEvents", call.query.get("resourceVersionMatch", "")
    asked = call.query.get(field_name)
    if asked is None and match:
        found = [
            causes.forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        ]
    elif asked is not None and match != "NotOlderThan":
        found = [
            causes.forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
        ]
    else:
        return
    raise status.invalid_options("ListOptions", found)


class _Watcher(msgspec.Struct, kw_only=True):
    state: State
    wakeups: Wakeups
    call: Call
    selection: Selection
    _columns_sent: bool = False

    async def lines(self, start: int) -> AsyncIterator[bytes]:
        deadline = self.state.clock.monotonic() + self._timeout_seconds()
        position = start
        initial = self.call.query.get("sendInitialEvents")
        if self.call.flag("sendInitialEvents") or (initial is None and start == 0):
            position = self.state.storage.revision
            for line in self._present():
                yield line
            if self.call.flag("sendInitialEvents") and self._bookmarks():
                yield self._bookmark(position, initial_events_end=True)
        elif start == 0:
            position = self.state.storage.revision
        async with contextlib.aclosing(self._follow(position, deadline)) as following:
            async for line in following:
                yield line

    async def _follow(self, position: int, deadline: float) -> AsyncGenerator[bytes]:
        resource = self.call.resource.storage_name
        while not self.wakeups.closed:
            changed = self.wakeups.next_change(resource)
            try:
                changes = self.state.storage.changes(resource, after=position)
            except Compacted as error:
                changed.cancel()
                yield _line("ERROR", _too_old(error))
                return
            for count, change in enumerate(changes, start=1):
                position = change.revision
                if (line := self._event(change)) is not None:
                    yield line
                if count % EVENTS_BETWEEN_YIELDS == 0:
                    await asyncio.sleep(0)
            if changes:
                changed.cancel()
                continue
            position = self.state.storage.revision
            left = deadline - self.state.clock.monotonic()
            if left <= 0:
                changed.cancel()
                if self._bookmarks():
                    yield self._bookmark(position)
                return
            interval = BOOKMARK_INTERVAL_SECONDS if self._bookmarks() else left
            if not await self._wait(changed, min(left, interval)) and left > interval:
                yield self._bookmark(self.state.storage.revision)

    async def _wait(self, changed: asyncio.Future[None], seconds: float) -> bool:
        """Whether something changed before that time was over."""
        sleeping = asyncio.ensure_future(self.state.clock.sleep(seconds))
        try:
            await asyncio.wait({changed, sleeping}, return_when=asyncio.FIRST_COMPLETED)
            return changed.done()
        finally:
            changed.cancel()
            sleeping.cancel()

    def _present(self) -> Iterable[bytes]:
        for document in self.state.every(self.call.resource, self.call.target.namespace):
            if self.selection.matches(document):
                yield self._shown("ADDED", document)

    def _event(self, change: Change) -> bytes | None:
        """What the change means to this watcher: objects come and go by its selectors too."""
        namespace = self.call.target.namespace
        if namespace and change.record.key.namespace != namespace:
            return None
        now = read(self.call.resource, change.record)
        before = read(self.call.resource, change.previous) if change.previous else None
        was_there = before is not None and self.selection.matches(before)
        is_there = not change.deleted and self.selection.matches(now)
        if is_there:
            return self._shown("MODIFIED" if was_there else "ADDED", now)
        if not was_there or before is None:
            return None
        return self._shown("DELETED", now if change.deleted else stamped(before, change.revision))

    def _shown(self, kind: str, document: Document) -> bytes:
        shaped = answers.shaped(
            self.state, self.call, document, with_columns=not self._columns_sent
        )
        self._columns_sent = True
        return _line(kind, shaped)

    def _bookmark(self, revision: int, *, initial_events_end: bool = False) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
        resource = self.call.resource
        document: Document = {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            "metadata": metadata,
        }
        match negotiation.form(self.call.headers.get("accept", "")):
            case Form.TABLE:
                document = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
                document |= {"columnDefinitions": None, "rows": []}
            case Form.METADATA:
                document |= {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        return _line("BOOKMARK", document)

    def _bookmarks(self) -> bool:
        return self.call.flag("allowWatchBookmarks")

    def _timeout_seconds(self) -> int:
        return self.call.number("timeoutSeconds") or TIMEOUT_SECONDS_DEFAULT


async def _only(line: bytes) -> AsyncIterator[bytes]:
    yield line


def _line(kind: str, document: Document) -> bytes:
    return msgspec.json.encode({"type": kind, "object": document}) + b"\n"


def _too_old(error: Compacted) -> Document:
    return status.expired(f"too old resource version: {error.revision} ({error.oldest})").status
