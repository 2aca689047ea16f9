"""The error for malformed text."""

import re

from lading.kernel import texts

SHOWN_CHARACTERS_MAX = 120
UNREADABLE = (ValueError, RecursionError)
"""The errors of decoding untrusted JSON: bad JSON or UTF-8, another form, deep nesting."""


_PATTERN = re.compile(r"Expected `str` matching regex .*?\(\?#([^)]*)\).*?(?= - at |\Z)")


def explained(error: Exception) -> str:
    """Replaces a pattern in the message by its comment, which describes it in words."""
    return _PATTERN.sub(r"expected \1", str(error))


class Malformed(ValueError):
    """A text of a user or another system is malformed; the message shows it and says why."""

    def __init__(self, *, what: str, text: object, reason: str) -> None:
        self.what = what
        self.text = text
        self.reason = reason
        super().__init__(f"{shown(text)} is not a valid {what}: {reason}")


def shown(text: object) -> str:
    """Returns the text quoted and shortened, so that hostile input cannot flood a log.

    It is redacted first, because a shortened secret is not recognised.
    """
    whole = texts.redacted(repr(text))
    if len(whole) <= SHOWN_CHARACTERS_MAX:
        return whole
    return f"{whole[:SHOWN_CHARACTERS_MAX]}… ({len(whole)} characters)"
