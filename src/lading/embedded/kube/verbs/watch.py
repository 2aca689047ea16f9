"""GET with watch=true: the changes of a collection, one JSON line each, as they happen.

A watcher is a position in the log of its resource, without a queue: a slow watcher costs nothing,
and gets a 410 when the log that it needs was compacted.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any

import msgspec

from lading.embedded.kube import answers, requests, selection, status
from lading.embedded.kube.answers import Form
from lading.embedded.kube.requests import Call
from lading.embedded.kube.schema import causes
from lading.embedded.kube.selection import Selection
from lading.embedded.kube.state import Document, State, read, stamped
from lading.embedded.kube.storage.memory import Change, Compacted
from lading.ports.http import Response

TIMEOUT_SECONDS_DEFAULT = 3_600
"""The length of a watch without timeoutSeconds; kube-apiserver takes 30 to 60 minutes."""
BOOKMARK_INTERVAL_SECONDS = 60.0  # kube-apiserver's
EVENTS_BETWEEN_YIELDS = 256
"""A watcher that sends a long history lets other requests run after this many events."""
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Wakeups:
    """Wakes watchers when the log of their resource has grown."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self.closed = False

    def changed(self, change: Change) -> None:
        self._wake(change.record.key.resource)

    def close(self) -> None:
        """Ends every watch."""
        self.closed = True
        for resource in list(self._waiting):
            self._wake(resource)

    def next_change(self, resource: str) -> asyncio.Future[None]:
        """Done at the next change of the resource. Call it before you read the log."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[resource].add(future)
        future.add_done_callback(self._waiting[resource].discard)
        return future

    def _wake(self, resource: str) -> None:
        for future in list(self._waiting.get(resource, ())):
            if not future.done():
                future.set_result(None)


def watch(state: State, wakeups: Wakeups, call: Call) -> Response:
    """Checks the request, and returns a response that streams the events."""
    _check_options(call)
    answers.form(call.headers.get("accept", ""))
    start = requests.revision_of(call.query.get("resourceVersion", ""))
    if start > state.storage.revision:
        # The revision is of a lost database and will never come: the client must list again.
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
    """Refuses a wrong use of `sendInitialEvents`."""
    match, is_asked = call.query.get("resourceVersionMatch", ""), "sendInitialEvents" in call.query
    if is_asked == (match == "NotOlderThan") and (is_asked or not match):
        return
    detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    if not is_asked:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    raise status.invalid_options("ListOptions", [causes.forbidden("resourceVersionMatch", detail)])


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
        """Whether a change came within the time."""
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
        """The event of a change; an object that no longer matches the selectors is DELETED."""
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
        match answers.form(self.call.headers.get("accept", "")):
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
