"""Decodes the bytes of an answer into the type of a resource: objects, pages, events.

The decoders of a type are made once. An unreadable object fails its whole page: a plan must not
take the object for absent. A built-in object in a list has neither `apiVersion` nor `kind`; they
are added to plain dictionaries, because these are shown whole.
"""

import contextlib
import functools
from collections.abc import AsyncIterator
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

import msgspec

from lading.adapters.kube import errors
from lading.kernel.errors import UNREADABLE
from lading.kernel.objects import Model, Resource
from lading.ports import kube
from lading.ports.kube import EventType, Page, WatchEvent

T = TypeVar("T")
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class _ListMeta(Model, frozen=True, kw_only=True):
    resource_version: str = ""
    continue_token: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class _ObjectList(msgspec.Struct, Generic[T]):
    metadata: _ListMeta
    items: list[T] | None


class _Event(msgspec.Struct):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class _Revision(Model, frozen=True, kw_only=True):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Revisioned(Model, frozen=True, kw_only=True):
    metadata: _Revision = _Revision()


_event_decoder = msgspec.json.Decoder(_Event)
_revision_decoder = msgspec.json.Decoder(_Revisioned)


@functools.cache
def _decoders(type_: Any) -> "tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]":
    """For one object and for a list of them."""
    return msgspec.json.Decoder(type_), msgspec.json.Decoder(_ObjectList[type_])


def _decoder(resource: Resource[T]) -> "msgspec.json.Decoder[T]":
    type_: Any = resource.type
    return _decoders(type_)[0]


def _list_decoder(resource: Resource[T]) -> "msgspec.json.Decoder[_ObjectList[T]]":
    type_: Any = resource.type
    return _decoders(type_)[1]


def decode_object(resource: Resource[T], body: bytes | msgspec.Raw, *, what: str) -> T:
    try:
        return _decoder(resource).decode(body)
    except UNREADABLE as error:
        raise errors.undecodable(what=what, type_=resource.type, error=error) from error


def decode_page(resource: Resource[T], body: bytes, *, what: str) -> Page[T]:
    try:
        decoded = _list_decoder(resource).decode(body)
    except UNREADABLE as error:
        raise errors.undecodable(what=what, type_=resource.type, error=error) from error
    for item in decoded.items or ():
        if isinstance(item, dict):
            item.setdefault("apiVersion", resource.api_version)
            item.setdefault("kind", resource.kind)
    return Page(
        items=tuple(decoded.items or ()),
        resource_version=decoded.metadata.resource_version,
        continue_token=decoded.metadata.continue_token,
        remaining_item_count=decoded.metadata.remaining_item_count,
    )


def decode_event(resource: Resource[T], line: bytes, *, what: str) -> WatchEvent[T]:
    """Reads one line of a watch; raises the error of an ERROR event."""
    try:
        event = _event_decoder.decode(line)
        if event.type == "ERROR":
            raise errors.of_event(event.object)
        if event.type == "BOOKMARK":
            return _bookmark(event.object)
        decoded = _decoder(resource).decode(event.object)
        return WatchEvent(
            type=EventType(event.type),
            object=decoded,
            resource_version=_resource_version(decoded, event.object),
        )
    except UNREADABLE as error:
        raise errors.undecodable(what=what, type_=resource.type, error=error) from error


def _resource_version(decoded: Any, raw: msgspec.Raw) -> str:
    """Most types name their metadata; for one that does not, the bytes are read again."""
    metadata = getattr(decoded, "metadata", None)
    known = getattr(metadata, "resource_version", None)
    return known if known is not None else _revision_decoder.decode(raw).metadata.resource_version


def _bookmark(raw: msgspec.Raw) -> WatchEvent[Any]:
    """Only the revision and annotations are decoded: the other fields may be null."""
    metadata = _revision_decoder.decode(raw).metadata
    return WatchEvent(
        type=EventType.BOOKMARK,
        object=None,
        resource_version=metadata.resource_version,
        initial_events_end=(metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true",
    )


LINE_BYTES_MAX = 16 * 1024 * 1024
"""Five times the largest object that an API server takes (3 MiB)."""
Body = bytes | AsyncIterator[bytes]


class _Closable(Protocol):
    async def aclose(self) -> None: ...


class Lines:
    """Cuts chunks into lines, and keeps an incomplete line."""

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *complete, self._pending = (self._pending + chunk).split(b"\n")
        if len(self._pending) > LINE_BYTES_MAX:
            raise kube.Unavailable(f"a watch sent a line of more than {LINE_BYTES_MAX} bytes")
        return [line for line in complete if line]

    def finish(self) -> None:
        if self._pending:
            raise kube.Unavailable("the watch ended in the middle of an event")


@contextlib.asynccontextmanager
async def chunks(body: Body) -> AsyncIterator[AsyncIterator[bytes]]:
    """The body as a stream, which is always closed."""
    stream = _once(body) if isinstance(body, bytes) else body
    try:
        yield stream
    finally:
        await cast(_Closable, stream).aclose()


async def whole(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    async with chunks(body) as stream:
        return b"".join([chunk async for chunk in stream])


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
