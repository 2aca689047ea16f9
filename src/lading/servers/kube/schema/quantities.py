"""Quantities as the API server keeps them: a whole number with the largest suffix that fits.

So `1.5Gi` becomes `1536Mi`; what is no quantity stays as it is, for validation to refuse.
"""

import math
import re
from fractions import Fraction
from typing import Any

from lading.kernel import quantities
from lading.kernel.errors import Malformed

NOT_A_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_NANO = 10**9
"""The smallest part that is kept; a smaller one is rounded up."""
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+$")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_EXPONENTS = ("e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12", "e15", "e18")


def is_quantity(text: str) -> bool:
    try:
        quantities.parse(text)
    except Malformed:
        return False
    return True


def canonical(value: Any) -> Any:
    """The one spelling of a quantity, given as text or as a number."""
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
