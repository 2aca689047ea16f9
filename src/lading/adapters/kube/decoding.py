"""From the bytes of an answer straight into the type of a resource: objects, pages, events.

Each type has its decoders made once. One object that cannot be read fails its whole page: a plan
on a list must not take it for absent. A built-in object inside a list carries neither
`apiVersion` nor `kind`; plain dictionaries get them back, because they are shown whole.
"""

import functools
from typing import Any, Generic, Literal, TypeVar

import msgspec

from lading.adapters.kube import errors
from lading.kernel.errors import UNREADABLE
from lading.kernel.objects import Model, Resource
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
    """Reads one line of a watch; an ERROR event is raised as the error that it is."""
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
    """The object is not decoded: beside the revision it is nulls, even where a value is due."""
    metadata = _revision_decoder.decode(raw).metadata
    return WatchEvent(
        type=EventType.BOOKMARK,
        object=None,
        resource_version=metadata.resource_version,
        initial_events_end=(metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true",
    )
