"""What a field of an API type declares beyond its Python type; schemas are generated from it.

A field is written `Annotated[type, Field("what it means", ...)]`. Decoding ignores it: the API
server is the judge of what is valid, and readers must cope with what it let in.
"""

from typing import Any, Literal

import msgspec


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A CEL rule and what a user reads when it does not hold."""

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
