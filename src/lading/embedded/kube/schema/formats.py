"""Formats and patterns of strings in schemas, and the one spelling of a quantity.

Only the formats that built-in kinds and Lading's CRDs use are checked. RE2 matches patterns without
backtracking, so a hostile pattern or text cannot stall the server.
"""

import base64
import binascii
import functools
import math
import re
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from typing import Any

import re2

from lading.embedded.kube.schema import nodes
from lading.kernel import durations, quantities
from lading.kernel.errors import Malformed

NOT_A_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
PATTERNS_MAX = 512
_NANO = 10**9
"""The smallest part that is kept; a smaller one is rounded up."""
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+$")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_EXPONENTS = ("e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12", "e15", "e18")
_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def has_format(name: str, text: str) -> bool:
    """Whether the text has the format; True for a format that is not checked."""
    check = _CHECKS.get(name)
    return check is None or check(text)


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere in the text; an invalid pattern matches nothing."""
    try:
        return _compiled(pattern).search(text) is not None
    except re2.error:
        return False


def pattern_problem(pattern: str) -> str:
    """Why RE2 cannot read a pattern; empty when it can."""
    try:
        _compiled(pattern)
    except re2.error as error:
        return str(error)
    return ""


@functools.lru_cache(maxsize=PATTERNS_MAX)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def canonical_quantity(value: Any) -> Any:
    """`1.5Gi` as `1536Mi`: a whole number with the largest suffix that fits.

    A value that is no quantity stays as it is, for validation to refuse.
    """
    text = str(value)
    if not is_quantity(text):
        return value
    number = Fraction(quantities.parse(text))
    nano = math.ceil(abs(number) * _NANO)
    sign = "-" if number < 0 else ""
    whole, rest = divmod(nano, _NANO)
    if not nano:
        return "0"
    if text.endswith("i") and not rest and whole >= 1024:
        return sign + _shortest(whole, 1024, _BINARY)
    return sign + _shortest(nano, 1000, _EXPONENTS if _EXPONENT.search(text) else _DECIMAL)


def _shortest(count: int, step: int, suffixes: tuple[str, ...]) -> str:
    place = 0
    while count % step == 0 and place < len(suffixes) - 1:
        count, place = count // step, place + 1
    return f"{count}{suffixes[place]}"


def _parses(parser: Callable[[str], object], *errors: type[Exception]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parser(text)
        except errors:
            return False
        return True

    return check


def _date_time(text: str) -> datetime:
    if not _DATE_TIME.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text.upper().replace(" ", "T"))


def _decode_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


is_quantity = _parses(quantities.parse, Malformed)
_is_date_time = _parses(_date_time, ValueError)
_CHECKS: dict[str, Callable[[str], bool]] = {
    "byte": _parses(_decode_base64, binascii.Error, ValueError),
    "date-time": _is_date_time,
    "duration": _parses(durations.parse, Malformed),
    nodes.MICRO_TIME: lambda text: bool(_MICRO_TIME.fullmatch(text)) and _is_date_time(text),
    nodes.QUANTITY: is_quantity,
}
