"""Which image of an index runs on a platform, and why the others do not."""

from lading.kernel.platforms.selection import Chosen, Entry, Explanation, NoMatch, refusal, select
from lading.kernel.platforms.types import UNKNOWN, Platform, normalised, parse

__all__ = [
    "UNKNOWN",
    "Chosen",
    "Entry",
    "Explanation",
    "NoMatch",
    "Platform",
    "normalised",
    "parse",
    "refusal",
    "select",
]
