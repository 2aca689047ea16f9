"""Objects as the rows of a table, the form that `kubectl get` prints.

Columns of custom resources are JSONPaths of their definitions; those of built-in kinds are
declared with the kinds. Ages are counted here, from the server's clock.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import jsonpath
import msgspec

from lading.embedded.kube.builtins import columns
from lading.embedded.kube.resources import Column

Document = dict[str, Any]

_ESCAPED_NAME = re.compile(r"\.((?:[^.\[\]\\]|\\.)*\\.(?:[^.\[\]\\]|\\.)*)")
_META = "meta.k8s.io/v1"


def _name(document: Document, now: datetime) -> Any:
    return document["metadata"]["name"]


def _age(document: Document, now: datetime) -> Any:
    return columns.age(document["metadata"].get("creationTimestamp"), now)


NAME = Column(name="Name", format="name", cell=_name)
AGE = Column(name="Age", type="date", cell=_age)


def of_definition(declared: Iterable[Document] | None) -> tuple[Column, ...]:
    """The columns of a custom resource; the default is its age."""
    if not declared:
        return (NAME, AGE)
    return (NAME, *map(_column, declared))


def _column(declared: Document) -> Column:
    path = jsonpath.compile("$" + _translated(declared["jsonPath"]))
    kind = declared["type"]

    def cell(document: Document, now: datetime) -> Any:
        return _shown(kind, path.findall(document), now)

    return Column(
        name=declared["name"],
        type=kind,
        format=declared.get("format", ""),
        priority=declared.get("priority", 0),
        description=declared.get("description", ""),
        cell=cell,
    )


def _translated(path: str) -> str:
    """Kubernetes escapes the dots of a name; JSONPath quotes the name."""

    def quoted(match: re.Match[str]) -> str:
        name = re.sub(r"\\(.)", r"\1", match[1])
        return f"['{name}']"

    return _ESCAPED_NAME.sub(quoted, path)


def _shown(kind: str, found: list[Any], now: datetime) -> Any:
    if not found:
        return None
    match kind, found[0]:
        case "string", value:
            return _text(value)
        case "date", str() as timestamp:
            return columns.age(timestamp, now)
        case "boolean", bool() as value:
            return value
        case "integer" | "number", bool():
            return None
        case "integer", int() | float() as value:
            return int(value)
        case "number", int() | float() as value:
            return value
        case _:
            return None


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return msgspec.json.encode(value).decode()
        case _:
            return str(value)


def table(
    columns: tuple[Column, ...],
    documents: Iterable[Document],
    *,
    now: datetime,
    metadata: Document,
    include: str,
    with_columns: bool = True,
) -> Document:
    """The Table of these documents; `include` is the option includeObject."""
    definitions = [
        {
            "name": each.name,
            "type": each.type,
            "format": each.format,
            "description": each.description,
            "priority": each.priority,
        }
        for each in columns
    ]
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": metadata,
        "columnDefinitions": definitions if with_columns else None,
        "rows": [_row(columns, each, now, include) for each in documents],
    }


def _row(columns: tuple[Column, ...], document: Document, now: datetime, include: str) -> Document:
    cells = [column.cell(document, now) for column in columns]
    match include:
        case "Object":
            return {"cells": cells, "object": document}
        case "None":
            return {"cells": cells, "object": None}
        case _:
            return {"cells": cells, "object": metadata_only(document)}


def metadata_only(document: Document) -> Document:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _META,
        "metadata": document["metadata"],
    }
