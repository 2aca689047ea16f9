"""Which image of an index runs on a platform, and why the others do not."""

from lading.kernel.platforms.selection import (
    Chosen,
    Explanation,
    NoMatch,
    PlatformEntry,
    refusal,
    select,
)
from lading.kernel.platforms.types import UNKNOWN, Platform, normalised, parse

__all__ = [
    "UNKNOWN",
    "Chosen",
    "Explanation",
    "NoMatch",
    "Platform",
    "PlatformEntry",
    "normalised",
    "parse",
    "refusal",
    "select",
]
