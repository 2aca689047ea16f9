"""A tiny API server in memory, as an exchange: revisions, pages, watches, merge patches, 410.

It honours what the loop relies on and nothing else; the real client speaks to it.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from lading.loop import tasks
from lading.ports.clock import Clock
from lading.ports.http import Request, Response

Document = dict[str, Any]
Change = tuple[int, str, Document]
INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class ApiServer:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._revision = 100
        self._compacted = 0
        self._objects: dict[str, Document] = {}
        self._history: list[tuple[str, Change]] = []
        self._watchers: list[tuple[str, asyncio.Queue[Change]]] = []

    async def __call__(self, request: Request) -> Response:
        query = dict(request.query)
        match request.method:
            case "GET" if query.get("watch"):
                return self._watch(request.path, query)
            case "GET" if request.path in self._objects:
                return answer(200, self._objects[request.path])
            case "GET" if is_collection(request.path):
                return self._list(request.path, query)
            case "POST":
                return self._create(request.path, msgspec.json.decode(request.body))
            case "PATCH" if request.path in self._objects:
                return self._patch(request.path, msgspec.json.decode(request.body))
            case "DELETE" if request.path in self._objects:
                document = self._objects.pop(request.path)
                return answer(200, self._write(request.path, "DELETED", document))
        return refusal(404, "NotFound", f"{request.path} not found")

    def compact(self) -> None:
        """Forgets the history: a watch can only start from the present."""
        self._revision += 1
        self._compacted = self._revision

    def bookmark(self) -> None:
        for _, events in self._watchers:
            events.put_nowait((self._revision, "BOOKMARK", self._bookmark({})))

    def _bookmark(self, annotations: Document) -> Document:
        metadata = {"resourceVersion": str(self._revision), "annotations": annotations}
        return {"metadata": metadata}

    def _create(self, collection: str, body: Document) -> Response:
        path = f"{collection}/{body['metadata']['name']}"
        if path in self._objects:
            return refusal(409, "AlreadyExists", f"{path} already exists")
        return answer(201, self._write(path, "ADDED", body))

    def _patch(self, path: str, patch: Document) -> Response:
        current = self._objects[path]
        expected = patch.get("metadata", {}).get("resourceVersion")
        if expected not in (None, current["metadata"]["resourceVersion"]):
            return refusal(409, "Conflict", "the object has been modified")
        return answer(200, self._write(path, "MODIFIED", merged(current, patch)))

    def _write(self, path: str, type_: str, body: Document) -> Document:
        self._revision += 1
        metadata = body["metadata"] | {"resourceVersion": str(self._revision)}
        document = body | {"metadata": metadata}
        if type_ != "DELETED":
            self._objects[path] = document
        change = (self._revision, type_, document)
        self._history.append((path, change))
        for prefix, events in self._watchers:
            if is_within(path, prefix):
                events.put_nowait(change)
        return document

    def _within(self, collection: str) -> list[Document]:
        return [one for path, one in self._objects.items() if is_within(path, collection)]

    def _list(self, collection: str, query: dict[str, str]) -> Response:
        found = self._within(collection)
        start = int(query.get("continue", "0"))
        end = start + int(query.get("limit", "500"))
        metadata = {"resourceVersion": str(self._revision)}
        if end < len(found):
            metadata["continue"] = str(end)
        return answer(200, {"metadata": metadata, "items": found[start:end]})

    def _watch(self, collection: str, query: dict[str, str]) -> Response:
        events: asyncio.Queue[Change] = asyncio.Queue()
        if query.get("sendInitialEvents"):
            for one in self._within(collection):
                events.put_nowait((self._revision, "ADDED", one))
            end = self._bookmark(INITIAL_EVENTS_END)
            events.put_nowait((self._revision, "BOOKMARK", end))
        else:
            since = int(query["resourceVersion"])
            if since < self._compacted:
                return refusal(410, "Expired", f"too old resource version: {since}")
            for path, change in self._history:
                if change[0] > since and is_within(path, collection):
                    events.put_nowait(change)
        self._watchers.append((collection, events))
        return Response(status=200, body=self._stream(collection, events, query))

    async def _stream(
        self, collection: str, events: asyncio.Queue[Change], query: dict[str, str]
    ) -> AsyncIterator[bytes]:
        try:
            async with tasks.started(self._clock.sleep(float(query["timeoutSeconds"]))) as timer:
                while not timer.done():
                    async with tasks.started(events.get()) as waiting:
                        await asyncio.wait({waiting, timer}, return_when=asyncio.FIRST_COMPLETED)
                    if not waiting.cancelled():
                        _, type_, document = waiting.result()
                        yield msgspec.json.encode({"type": type_, "object": document}) + b"\n"
        finally:
            self._watchers.remove((collection, events))


def is_collection(path: str) -> bool:
    return len(path.removeprefix("/apis/").removeprefix("/api/").split("/")) % 2 == 1 - (
        path.startswith("/api/")
    )


def is_within(path: str, collection: str) -> bool:
    """Whether the object is of the collection, which may span all namespaces."""
    root, _, plural = collection.rpartition("/")
    return path.startswith(f"{root}/") and path.split("/")[-2] == plural


def merged(target: Document, patch: Document) -> Document:
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = merged(result.get(name) or {}, value)
        else:
            result[name] = value
    return result


def answer(status: int, body: Document) -> Response:
    return Response(status=status, body=msgspec.json.encode(body))


def refusal(code: int, reason: str, message: str) -> Response:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(code, status)
