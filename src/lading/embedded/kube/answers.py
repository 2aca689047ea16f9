"""Turns the result of a verb into an HTTP response: the object, a Table, or only metadata."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from lading.embedded.kube import events, status, tables
from lading.embedded.kube.requests import Call
from lading.embedded.kube.schema import causes
from lading.embedded.kube.state import State
from lading.ports.http import Response

Document = dict[str, Any]

JSON = "application/json"
_INCLUDES = ("", "None", "Metadata", "Object")
_META = "meta.k8s.io"


class Form(StrEnum):
    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


class _Clause(msgspec.Struct, frozen=True, kw_only=True):
    media_type: str
    parameters: dict[str, str]


def form(accept: str) -> Form:
    """The form of the first clause of an Accept header that can be served."""
    for clause in _clauses(accept):
        wanted = clause.parameters.get("as", "")
        if clause.media_type not in ("application/json", "*/*", "application/*"):
            continue
        if not wanted:
            return Form.OBJECT
        known = clause.parameters.get("g") == _META and clause.parameters.get("v") == "v1"
        if known and wanted in (each.value for each in Form):
            return Form(wanted)
    raise status.not_acceptable(["application/json"])


def _clauses(accept: str) -> list[_Clause]:
    found = []
    for text in (accept or "*/*").split(","):
        media_type, *rest = (part.strip() for part in text.split(";"))
        pairs = (part.partition("=") for part in rest)
        parameters = {key.strip(): value.strip() for key, _, value in pairs}
        found.append(_Clause(media_type=media_type.lower(), parameters=parameters))
    return found


def one(state: State, call: Call, document: Document, *, code: int = 200) -> Response:
    """An object, as itself, as a table of one row, or as its metadata."""
    return body(call, shaped(state, call, document), code=code)


def shaped(state: State, call: Call, document: Document, *, with_columns: bool = True) -> Document:
    document = _whole(call, document)
    match form(call.headers.get("accept", "")):
        case Form.TABLE:
            version = document["metadata"].get("resourceVersion", "")
            return _table(
                state,
                call,
                [document],
                {"resourceVersion": version},
                with_columns=with_columns,
            )
        case Form.METADATA:
            return tables.metadata_only(document)
        case Form.METADATA_LIST:
            raise status.not_acceptable([JSON])
        case Form.OBJECT:
            return document


def many(state: State, call: Call, documents: list[Document], metadata: Document) -> Response:
    """A page of a collection."""
    resource = call.resource
    documents = [_whole(call, each) for each in documents]
    match form(call.headers.get("accept", "")):
        case Form.TABLE:
            return body(call, _table(state, call, documents, metadata))
        case Form.METADATA_LIST:
            items = [tables.metadata_only(each) for each in documents]
            listed = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
            return body(call, {**listed, "metadata": metadata, "items": items})
        case Form.METADATA:
            raise status.not_acceptable([JSON])
        case Form.OBJECT:
            listed = {"kind": resource.list_kind, "apiVersion": resource.api_version}
            items = documents if resource.custom else [_untyped(each) for each in documents]
            return body(call, {**listed, "metadata": metadata, "items": items})


def _whole(call: Call, document: Document) -> Document:
    is_event = call.resource.storage_name == events.STORAGE_NAME
    return events.answered(document) if is_event else document


def body(call: Call, document: Document, *, code: int = 200) -> Response:
    return Response(status=code, headers=headers(call.warnings), body=msgspec.json.encode(document))


def headers(warnings: Iterable[str]) -> Mapping[str, str]:
    found = {"content-type": JSON}
    texts = [_warning(each) for each in dict.fromkeys(warnings)]
    if texts:
        found["warning"] = ", ".join(texts)
    return found


def _warning(text: str) -> str:
    """One value of a Warning header, without characters that HTTP cannot carry."""
    plain = "".join(each for each in text if each.isprintable())
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


def _table(
    state: State,
    call: Call,
    documents: list[Document],
    metadata: Document,
    *,
    with_columns: bool = True,
) -> Document:
    include = call.query.get("includeObject", "")
    if include not in _INCLUDES:
        cause = causes.not_supported("includeObject", include, _INCLUDES[1:])
        raise status.invalid_options("TableOptions", [cause])
    return tables.table(
        call.resource.columns,
        documents,
        now=state.clock.now(),
        metadata=metadata,
        include=include,
        with_columns=with_columns,
    )


def _untyped(document: Document) -> Document:
    """An item in a list of a built-in kind has no kind and apiVersion."""
    return {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
