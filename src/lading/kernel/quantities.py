"""Kubernetes quantities (`500m`, `16Gi`, `1e3`) as exact decimals, and bytes for people."""

import re
from decimal import ROUND_CEILING, Decimal

from lading.kernel.errors import Malformed

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
)
QUANTITY_CHARACTERS_MAX = 64
_EXPECTED = (
    "expected a number with an optional suffix such as m, k, M, Gi or an exponent such as e3"
)
_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def parse(text: str) -> Decimal:
    match = _QUANTITY.fullmatch(text) if len(text) <= QUANTITY_CHARACTERS_MAX else None
    if match is None:
        raise Malformed(what="quantity", text=text, reason=_EXPECTED)
    number = Decimal(match["number"])
    if match["exponent"]:
        return number.scaleb(int(match["exponent"]))
    suffix = match["suffix"] or ""
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY[suffix]
    return number.scaleb(_DECIMAL[suffix])


def parse_bytes(text: str) -> int:
    """Whole bytes, rounded up as Kubernetes rounds a fraction of a unit."""
    return int(parse(text).to_integral_value(rounding=ROUND_CEILING))


def format_bytes(count: int) -> str:
    """Bytes for a person: three significant digits, or four up to 1023, and a binary unit."""
    size = float(count)
    for unit in _BINARY_UNITS:
        if abs(size) < 1023.5 or unit == _BINARY_UNITS[-1]:
            return f"{size:.3g} {unit}" if abs(size) < 999.5 else f"{size:.0f} {unit}"
        size /= 1024
    raise AssertionError("unreachable: the last unit always returns")
