"""GET of a collection, in one answer or in pages of the same revision."""

import base64
from typing import Any

import msgspec

from lading.embedded.kube import answers, requests, selection, status
from lading.embedded.kube.requests import Call
from lading.embedded.kube.schema import causes
from lading.embedded.kube.state import Document, State, read
from lading.embedded.kube.storage.memory import Compacted, Record
from lading.ports.http import Response

_MATCHES = ("Exact", "NotOlderThan")
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. Start a new "
    "list, or use the continue token in this response for an inconsistent rest of this list."
)


class _Token(msgspec.Struct, frozen=True, kw_only=True):
    """The start of the next page, and the revision of all pages (-1: the current one)."""

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
    """The metadata of a list: its revision and the token of the next page."""
    found: dict[str, Any] = {"resourceVersion": str(shown.revision)}
    if call.resource.custom:
        found["continue"] = ""
    if shown.token:
        found["continue"] = shown.token
        if shown.remaining is not None:
            found["remainingItemCount"] = shown.remaining
    return found


def page(state: State, call: Call) -> Page:
    """The selected objects, up to the limit."""
    limit = max(call.number("limit"), 0)
    call.number("timeoutSeconds")  # not used, but an invalid number is refused
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
    """The revision to show, and the name after which the page starts."""
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
    """Only a watch has initial events."""
    field = "sendInitialEvents"
    if field in call.query:
        cause = causes.forbidden(field, f"{field} is forbidden for list")
        raise status.invalid_options("ListOptions", [cause])


def _check_match(version: str, match: str, token: str) -> None:
    is_wrong = token or not version or match not in _MATCHES or (match, version) == ("Exact", "0")
    if match and is_wrong:
        detail = "it needs a resourceVersion, and must be Exact or NotOlderThan"
        raise status.invalid_options(
            "ListOptions", [causes.forbidden("resourceVersionMatch", detail)]
        )


def _encode(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decode(text: str) -> _Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (ValueError, msgspec.MsgspecError) as error:
        message = f"invalid continue token: continue key is not valid: {error}"
        raise status.bad_request(message) from None
