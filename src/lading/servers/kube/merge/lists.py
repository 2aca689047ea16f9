"""Lists in a strategic merge patch: by merge key, as sets of primitives, and their order."""

from collections.abc import Callable
from typing import Any

from lading.servers.kube.merge.errors import PatchError
from lading.servers.kube.schema import causes, nodes
from lading.servers.kube.schema.nodes import Document, Schema

DIRECTIVE = "$patch"
Merge = Callable[[Schema, Document, Document], Document]


def merges(schema: Schema) -> bool:
    """Whether the schema asks for merging; a list that says nothing is replaced."""
    return "merge" in str(schema.get("x-kubernetes-patch-strategy", "")).split(",")


def merge_key(schema: Schema) -> str:
    return str(schema.get("x-kubernetes-patch-merge-key", ""))


def merge(schema: Schema, live: list[Any], patch: list[Any], merge_item: Merge) -> list[Any]:
    """The merged list: items of the patch in its order, the server's own where they were."""
    key = merge_key(schema)
    if not key:
        merged = live + [item for item in _distinct(patch) if item not in live]
        return ordered(schema, merged, order=patch, live=live)
    if not all(isinstance(item, dict) for item in patch):
        raise PatchError(f"expected a list of objects with merge key {key}")
    changes = [item for item in patch if DIRECTIVE not in item]
    merged = _directed([item for item in patch if DIRECTIVE in item], live, key)
    for item in changes:
        position = _position(merged, key, _identity(item, key))
        if position is None:
            merged.append(merge_item(nodes.items(schema), {}, item))
        else:
            merged[position] = merge_item(nodes.items(schema), merged[position], item)
    return ordered(schema, merged, order=changes, live=live)


def _directed(directives: list[Document], live: list[Any], key: str) -> list[Any]:
    """What is left of the live list after the items that say delete or replace."""
    left = list(live)
    for item in directives:
        match item[DIRECTIVE]:
            case "delete":
                gone = _identity(item, key)
                left = [each for each in left if each.get(key) != gone]
            case "replace":
                left = []
            case "merge":
                raise PatchError("merging lists cannot yet be specified in the patch")
            case other:
                raise unknown_directive(other, item)
    return left


def ordered(schema: Schema, merged: list[Any], *, order: list[Any], live: list[Any]) -> list[Any]:
    """Puts the items named by the patch in its order; the server's own keep their places."""
    key = merge_key(schema)

    def identity(item: Any) -> str:
        return causes.shown(item.get(key) if key and isinstance(item, dict) else item)

    wanted = {identity(item): index for index, item in reversed(list(enumerate(order)))}
    places = {identity(item): index for index, item in enumerate(live)}
    named = sorted(
        (item for item in merged if identity(item) in wanted), key=lambda i: wanted[identity(i)]
    )
    result: list[Any] = []
    for item in (item for item in merged if identity(item) not in wanted):
        while named and not _before(places, identity(item), identity(named[0])):
            result.append(named.pop(0))
        result.append(item)
    return result + named


def _before(places: dict[str, int], left: str, right: str) -> bool:
    return left in places and right in places and places[left] < places[right]


def _position(items: list[Any], key: str, value: Any) -> int | None:
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get(key) == value:
            return index
    return None


def _identity(item: Document, key: str) -> Any:
    if key not in item:
        text = causes.shown(item)
        raise PatchError(f"map: {text} does not contain declared merge key: {key}")
    return item[key]


def _distinct(items: list[Any]) -> list[Any]:
    distinct: list[Any] = []
    for item in items:
        if item not in distinct:
            distinct.append(item)
    return distinct


def unknown_directive(directive: object, place: Document) -> PatchError:
    return PatchError(f"unknown patch type: {directive} in map: {causes.shown(place)}")
