"""Keeps secrets out of whatever a person may read: log lines and events.

By name (a field called `password`) and by form (a bearer token, a URL with a password in it). It
is the second line of defence: the first is not to hand secrets to a log at all.
"""

import re
from typing import Any

REDACTED = "[redacted]"
DEPTH_MAX = 8  # deeper values are not shown at all
_SECRET_NAME = re.compile(
    r"passw|secret|token|authorization|credential|private_?key|api_?key|cookie|dockerconfig",
    re.IGNORECASE,
)
# What is repeated before a sign that decides is bounded: hostile text must not take long.
_SECRET_FORMS = (
    re.compile(r"(?P<kept>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<kept>://)[^\s/@]+@"),
    re.compile(
        r"(?P<kept>(?:password|token|secret|signature|credential)[\w-]{0,64}\"?[=:]\s?\"?)"
        r"[^\s&\"',;]+",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<kept>[?&]sig=)[^\s&\"']+", re.IGNORECASE),  # how Azure signs a URL
    re.compile(r"(?P<kept>\b)eyJ[\w-]{8,4096}\.[\w-]+\.[\w-]*"),  # a JSON web token
)


def redact_text(text: str) -> str:
    for form in _SECRET_FORMS:
        text = form.sub(rf"\g<kept>{REDACTED}", text)
    return text


def redact_value(value: Any, *, depth: int = 0) -> Any:
    """The value, as deep as it goes, without what looks like a secret."""
    if depth > DEPTH_MAX:
        return REDACTED
    match value:
        case str():
            return redact_text(value)
        case dict():
            return {key: redact_field(key, inner, depth=depth + 1) for key, inner in value.items()}
        case list() | tuple():
            return [redact_value(inner, depth=depth + 1) for inner in value]
        case _:
            return value


def redact_field(name: object, value: Any, *, depth: int = 0) -> Any:
    if isinstance(name, str) and _SECRET_NAME.search(name) and value not in (None, "", False):
        return REDACTED
    return redact_value(value, depth=depth)
