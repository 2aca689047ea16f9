"""The one error of the kernel: text that does not have the form it must have."""

import re

from lading.kernel import texts

SHOWN_CHARACTERS_MAX = 120
UNREADABLE = (ValueError, RecursionError)
"""What decoding the JSON of a stranger raises: bad JSON or UTF-8, another form, deep nesting."""


_PATTERN = re.compile(r"Expected `str` matching regex .*?\(\?#([^)]*)\).*?(?= - at |\Z)")


def explained(error: Exception) -> str:
    """What was expected and where, in words: a pattern says in a comment what it is one of."""
    return _PATTERN.sub(r"expected \1", str(error))


class Malformed(ValueError):
    """Something a person or a peer wrote cannot be read; says what, why, and shows the text."""

    def __init__(self, *, what: str, text: object, reason: str) -> None:
        self.what = what
        self.text = text
        self.reason = reason
        super().__init__(f"{shown(text)} is not a valid {what}: {reason}")


def shown(text: object) -> str:
    """Returns the text quoted and shortened, so that hostile input cannot flood a log.

    Redacted first: cut in two, a secret does not look like one.
    """
    whole = texts.redacted(repr(text))
    if len(whole) <= SHOWN_CHARACTERS_MAX:
        return whole
    return f"{whole[:SHOWN_CHARACTERS_MAX]}… ({len(whole)} characters)"
