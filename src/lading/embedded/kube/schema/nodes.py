"""Reads a structural schema: a plain OpenAPI v3 dictionary with x-kubernetes keys.

The functions give the schemas of the children of a value, and the keys of list items.
"""

from typing import Any

Schema = dict[str, Any]
Document = dict[str, Any]

RESOURCE_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
EMPTY: Schema = {}
EMPTY_IS_ABSENT = "x-empty-is-absent"
"""Marks an enum of a built-in kind: an empty string means that the field is absent."""

QUANTITY = "x-quantity"
MICRO_TIME = "x-micro-time"
"""Formats of strings in built-in kinds that OpenAPI documents do not name."""


def properties(schema: Schema) -> dict[str, Schema]:
    return schema.get("properties") or EMPTY


def values(schema: Schema) -> Schema | None:
    """The schema of a map's values; None if the schema is no map."""
    additional = schema.get("additionalProperties")
    if additional is True:
        return EMPTY
    return additional if isinstance(additional, dict) else None


def child(schema: Schema, key: str) -> Schema | None:
    """The schema of one field of an object or one value of a map."""
    found = properties(schema).get(key)
    return found if found is not None else values(schema)


def items(schema: Schema) -> Schema:
    return schema.get("items") or EMPTY


def preserves_unknown_fields(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def is_embedded_resource(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def is_integer_or_string(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string"))


def is_builtin(schema: Schema) -> bool:
    """Whether this is the schema of a whole built-in kind."""
    return "x-kubernetes-group-version-kind" in schema


def list_type(schema: Schema) -> str:
    """`atomic` (the default), `set` or `map`."""
    return str(schema.get("x-kubernetes-list-type", "atomic"))


def list_keys(schema: Schema) -> list[str]:
    return list(schema.get("x-kubernetes-list-map-keys", ()))


def item_key(schema: Schema, item: Any) -> tuple[Any, ...] | None:
    """The key of an item of a list of type map; None if the item is no object."""
    if not isinstance(item, dict):
        return None
    defaults = properties(items(schema))
    return tuple(
        item.get(key, defaults.get(key, EMPTY).get("default")) for key in list_keys(schema)
    )


def items_by_key(schema: Schema, items: Any) -> dict[str, Any]:
    """The items of a list of type map by `item_label`; empty for other lists."""
    if not isinstance(items, list) or list_type(schema) != "map":
        return {}
    return {item_label(schema, item): item for item in items}


def item_label(schema: Schema, item: Any) -> str:
    """The key of an item as a string, since its parts may be lists and objects."""
    return repr(item_key(schema, item))
