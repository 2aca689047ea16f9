"""The causes of a Kubernetes `Status`: the field, a machine-readable reason and a message.

`summary` joins several causes into the sentence that kubectl shows.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import msgspec

OMITTED: Final = object()
"""Stands for a value that is too large or too secret to be shown."""
ROOT: Final = "<nil>"
"""The path of the whole object, as Kubernetes writes it."""


class Reason(StrEnum):
    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    TYPE_INVALID = "FieldValueTypeInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_FOUND = "FieldValueNotFound"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"


_TITLES = {
    Reason.REQUIRED: "Required value",
    Reason.INVALID: "Invalid value",
    Reason.TYPE_INVALID: "Invalid value",
    Reason.NOT_SUPPORTED: "Unsupported value",
    Reason.DUPLICATE: "Duplicate value",
    Reason.FORBIDDEN: "Forbidden",
    Reason.NOT_FOUND: "Not found",
    Reason.TOO_LONG: "Too long",
    Reason.TOO_MANY: "Too many",
}


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `Status.details.causes`."""

    field: str
    reason: str
    message: str
    bad_value: Any = None

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> Cause:
    return _cause(field, Reason.REQUIRED, OMITTED, detail)


def invalid(field: str, value: Any, detail: str) -> Cause:
    return _cause(field, Reason.INVALID, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    return _cause(field, Reason.TYPE_INVALID, value, detail)


def not_supported(field: str, value: Any, supported: Iterable[Any]) -> Cause:
    names = (each if isinstance(each, str) else shown(each) for each in supported)
    return _cause(
        field, Reason.NOT_SUPPORTED, value, f"supported values: {', '.join(map(shown, names))}"
    )


def duplicate(field: str, value: Any, detail: str = "") -> Cause:
    return _cause(field, Reason.DUPLICATE, value, detail)


def forbidden(field: str, detail: str) -> Cause:
    return _cause(field, Reason.FORBIDDEN, OMITTED, detail)


def not_found(field: str, value: Any) -> Cause:
    return _cause(field, Reason.NOT_FOUND, value, "")


def too_long(field: str, limit: int) -> Cause:
    unit = "byte" if limit == 1 else "bytes"
    return _cause(field, Reason.TOO_LONG, OMITTED, f"may not be more than {limit} {unit}")


def too_many(field: str, count: int, limit: int) -> Cause:
    unit = "item" if limit == 1 else "items"
    return _cause(field, Reason.TOO_MANY, count, f"must have at most {limit} {unit}")


def summary(causes: Iterable[Cause]) -> str:
    """The list of problems in an `is invalid: ...` message."""
    sentences = list(dict.fromkeys(str(cause) for cause in causes))
    return sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"


def shown(value: Any) -> str:
    """A value as Kubernetes prints it: compact JSON with sorted keys."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if isinstance(value, dict | list):
        return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return text


def _cause(field: str, reason: Reason, value: Any, detail: str) -> Cause:
    parts = [_TITLES[reason]]
    if value is not OMITTED:
        parts.append(shown(value))
    if detail:
        parts.append(detail)
    return Cause(
        field=field or ROOT,
        reason=reason,
        message=": ".join(parts),
        bad_value=None if value is OMITTED else value,
    )
