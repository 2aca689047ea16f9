"""The schema of a field of an API type, beyond its Python type.

A field is written `Annotated[type, Field("what it means", ...)]`. Decoding ignores it: the API
server validates objects, and readers must accept what it accepted.
"""

from typing import Any, Literal

import msgspec


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A CEL rule, and the message if it does not hold."""

    rule: str
    message: str


class Field(msgspec.Struct, frozen=True):
    """What the schema says about a field beyond its Python type."""

    description: str
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    min_items: int | None = None
    max_items: int | None = None
    max_properties: int | None = None
    list_type: Literal["atomic", "set", "map"] | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: Literal["atomic", "granular"] | None = None
    format: str | None = None
    default: Any = None
    rules: tuple[Rule, ...] = ()
    items: "Field | None" = None
