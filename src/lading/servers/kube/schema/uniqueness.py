"""Duplicates in lists of type set, and in lists of type map by their keys."""

from collections.abc import Iterator
from typing import Any

import msgspec

from lading.servers.kube.schema import causes, nodes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document, Schema


def duplicates(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """The second appearance of each repeated item, in this value and below it."""
    match value:
        case list():
            yield from _in_list(schema, value, path)
            if "items" in schema:
                for index, item in enumerate(value):
                    yield from duplicates(schema["items"], item, f"{path}[{index}]")
        case dict():
            yield from _below(schema, value, path)


def _below(schema: Schema, value: Document, path: str) -> Iterator[Cause]:
    declared = nodes.properties(schema)
    for key, inner in value.items():
        if not isinstance(inner, dict | list):
            continue
        if key in declared:
            yield from duplicates(declared[key], inner, f"{path}.{key}" if path else key)
        elif (below := nodes.values(schema)) is not None:
            yield from duplicates(below, inner, f"{path}[{key}]")


def _in_list(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    match nodes.list_type(schema):
        case "set":
            identities = value
        case "map":
            for index, item in enumerate(value):
                if item is not None and not isinstance(item, dict):
                    detail = "must be an object for an array of list-type map"
                    yield causes.invalid(f"{path}[{index}]", item, detail)
                    return
            keys = nodes.list_keys(schema)
            identities = [{k: item[k] for k in keys if k in item} if item else {} for item in value]
        case _:
            return
    for index in _second_appearances(identities):
        yield causes.duplicate(f"{path}[{index}]", identities[index])


def has_repeats(value: list[Any]) -> bool:
    return bool(_second_appearances(value))


def _second_appearances(values: list[Any]) -> list[int]:
    seen: dict[bytes, int] = {}
    indexes = []
    for index, value in enumerate(values):
        identity = msgspec.json.encode(value, order="sorted")
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            indexes.append(index)
    return indexes
