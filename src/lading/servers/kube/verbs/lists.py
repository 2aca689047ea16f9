"""GET of a collection, whole or in pages that all show the same revision."""

import base64
from typing import Any

import msgspec

from lading.ports.http import Response
from lading.servers.kube import answers, requests, selection, status
from lading.servers.kube.requests import Call
from lading.servers.kube.schema import causes
from lading.servers.kube.state import Document, State, read
from lading.servers.kube.storage.types import Compacted, Record

_MATCHES = ("Exact", "NotOlderThan", "")
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct, frozen=True, kw_only=True):
    """Where the next page begins, and which revision all pages show (-1: the present)."""

    rv: int
    start: tuple[str, str]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    documents: list[Document]
    revision: int
    token: str
    remaining: int | None


def list_objects(state: State, call: Call) -> Response:
    found = page(state, call)
    return answers.many(state, call, found.documents, metadata(call, found))


def metadata(call: Call, shown: Page) -> dict[str, Any]:
    """What a list says of itself: its revision, and how to go on."""
    found: dict[str, Any] = {"resourceVersion": str(shown.revision)}
    if call.resource.custom:
        found["continue"] = ""
    if shown.token:
        found["continue"] = shown.token
        if shown.remaining is not None:
            found["remainingItemCount"] = shown.remaining
    return found


def page(state: State, call: Call) -> Page:
    """The objects that are selected, as far as the limit goes."""
    limit = max(call.number("limit"), 0)
    call.number("timeoutSeconds")  # a list is never that slow, but nonsense is refused
    _refuse_initial_events(call)
    revision, after = _start(state, call)
    wanted = selection.of(call.resource, call.query, call.target.name)
    records = _records(state, call, revision, after)
    documents: list[Document] = []
    for position, record in enumerate(records):
        document = read(call.resource, record)
        if not wanted.matches(document):
            continue
        documents.append(document)
        left = len(records) - position - 1
        if limit and len(documents) == limit and left:
            token = _encode(_Token(rv=revision, start=(record.key.namespace, record.key.name)))
            remaining = left if wanted.is_everything else None
            return Page(documents=documents, revision=revision, token=token, remaining=remaining)
    return Page(documents=documents, revision=revision, token="", remaining=None)


def _records(
    state: State, call: Call, revision: int, after: tuple[str, str] | None
) -> list[Record]:
    try:
        return list(
            state.storage.list(
                call.resource.storage_name,
                namespace=call.target.namespace,
                at=revision,
                after=after,
            )
        )
    except Compacted:
        if after is None:
            message = "The resourceVersion for the provided list is too old."
            raise status.expired(message) from None
        token = _encode(_Token(rv=-1, start=after))
        raise status.expired(_EXPIRED, continue_token=token) from None


def _start(state: State, call: Call) -> tuple[int, tuple[str, str] | None]:
    """The revision to show, and after which name to go on."""
    token_text = call.query.get("continue", "")
    version = call.query.get("resourceVersion", "")
    match = call.query.get("resourceVersionMatch", "")
    _check_match(version, match, token_text)
    current = state.storage.revision
    if token_text:
        if version not in ("", "0"):
            raise status.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        token = _decode(token_text)
        return (current if token.rv < 0 else token.rv), token.start
    asked = requests.revision_of(version)
    if asked > current:
        raise status.revision_is_in_the_future(asked=asked, current=current)
    return (asked if match == "Exact" else current), None


def _refuse_initial_events(call: Call) -> None:
    """They belong to a watch; a list that passed over them would look like one."""
    field = "sendInitialEvents"
    if field in call.query:
        cause = causes.forbidden(field, f"{field} is forbidden for list")
        raise status.invalid_options("ListOptions", [cause])


def _check_match(version: str, match: str, token: str) -> None:
    field = "resourceVersionMatch"
    if not match:
        return
    if token:
        cause = causes.forbidden(field, f"{field} is forbidden when continue is provided")
    elif not version:
        cause = causes.forbidden(field, f"{field} is forbidden unless resourceVersion is provided")
    elif match not in _MATCHES:
        cause = causes.not_supported(field, match, _MATCHES)
    elif match == "Exact" and version == "0":
        cause = causes.forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"')
    else:
        return
    raise status.invalid_options("ListOptions", [cause])


def _encode(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decode(text: str) -> _Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (ValueError, msgspec.MsgspecError) as error:
        message = f"invalid continue token: continue key is not valid: {error}"
        raise status.bad_request(message) from None
