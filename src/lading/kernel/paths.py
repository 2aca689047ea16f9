"""Paths that stay below the folder that they are relative to. Pure."""

import re

_LEADS_OUT = re.compile(r"\0|(?:^|/)\.{0,2}(?:/|\Z)")


def is_below(path: str) -> bool:
    """Whether the path is names between slashes, none of them empty, `.`, `..` or with a NUL."""
    return _LEADS_OUT.search(path) is None
