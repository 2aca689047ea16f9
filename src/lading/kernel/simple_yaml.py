"""Reads the YAML that programs write into a kubeconfig, and refuses anything else.

PyYAML is slow to load (docs/adr/0015). What this module reads has the same value in PyYAML; for a
text that may have another value there, or none, it raises `NotSimple`.
"""

import re
from typing import Any, TypeAlias

BYTES_MAX = 1024 * 1024
LEVELS_MAX = 16

_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_./-]{0,99}):(?: (.+))?")
# In YAML a colon or a hash has a meaning beside a space only; here a hash is not allowed at all.
_PLAIN = re.compile(r"[A-Za-z/_](?:[A-Za-z0-9_./@=+,~\[\]-]|:(?=[^ ])| (?=[^ ]))*")
_QUOTED = re.compile(r"\"([ !#-\[\]-~]*)\"|'([ -&(-~]*)'")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False}
_WORDS = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
"""Not texts in YAML 1.1, in any case of letters."""

Lines: TypeAlias = list[tuple[int, str]]
"""From the last to the first: how far each is indented, and the rest of it."""


class NotSimple(Exception):
    pass


def value(content: bytes) -> Any:
    """None for an empty text."""
    lines = _lines(content)
    if not lines:
        return None
    found = _block(lines, lines[-1][0], level=0)
    if lines:
        raise NotSimple
    return found


def _lines(content: bytes) -> Lines:
    text = content.decode(errors="replace")
    if len(text) > BYTES_MAX or not text.isascii() or not text.replace("\n", "").isprintable():
        raise NotSimple
    found = []
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        if stripped and not stripped.startswith("#"):
            found.append((len(line) - len(stripped), stripped))
    return found[::-1]


def _block(lines: Lines, indent: int, *, level: int) -> Any:
    """Takes the lines of one mapping or sequence away."""
    if level > LEVELS_MAX:
        raise NotSimple
    if lines[-1][1].startswith("- "):
        return _sequence(lines, indent, level=level)
    return _mapping(lines, indent, level=level)


def _sequence(lines: Lines, indent: int, *, level: int) -> list[Any]:
    found = []
    while lines and lines[-1][0] == indent and lines[-1][1].startswith("- "):
        _, text = lines.pop()
        item = text[2:]
        if _KEY.fullmatch(item):
            lines.append((indent + 2, item))
            found.append(_mapping(lines, indent + 2, level=level + 1))
        else:
            found.append(_scalar(item))
    return found


def _mapping(lines: Lines, indent: int, *, level: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while lines and lines[-1][0] == indent:
        matched = _KEY.fullmatch(lines[-1][1])
        if matched is None:
            break
        key, text = matched.groups()
        if key in found or key.lower() in _WORDS:
            raise NotSimple
        lines.pop()
        found[key] = _below(lines, indent, level=level) if text is None else _scalar(text)
    return found


def _below(lines: Lines, indent: int, *, level: int) -> Any:
    """The value of a key that stands alone. Sequences need not be indented."""
    if not lines:
        return None
    next_indent, text = lines[-1]
    if next_indent > indent or (next_indent == indent and text.startswith("- ")):
        return _block(lines, next_indent, level=level + 1)
    return None


def _scalar(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text in ("{}", "[]"):
        return {} if text == "{}" else []
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] if quoted[2] is None else quoted[2]
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    raise NotSimple
