"""Hostile inputs: valid examples in which anything may be changed, as values and as bytes."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml
from hypothesis import strategies as st

CHANGES_MAX = 4
TEXTS = st.text(max_size=20) | st.sampled_from(
    ["", " ", "..", "/", "a" * 10_000, "\x00", "\u202e", "é", "-1", "1e999", "0x10", "null"]
)
NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, -1, 2**31, 2**63, -(2**63) - 1, 10**400])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
_VALUE = re.compile(rb"[:-] *([^\s,\]}]+)")
"""Where a value stands in JSON and YAML."""
PIECES = st.binary(max_size=8) | st.sampled_from(
    [
        b"",
        b"\xff\xfe",
        b"\x00",
        b"[" * 5_000,
        b'{"a":' * 5_000,
        b"- " * 2_000,
        b"1" * 5_000,
        b"1e999999999",
        b"NaN",
        b"\\ud800",
        b"&a ",
        b"*a",
        b"<<: ",
        b"? ",
        b"!!binary ",
        b"!!python/object:os.system ",
        b"2001-13-45",
        b"190:20:30",
        b"\n---\n",
        b"\t",
    ]
)


@st.composite
def documents(draw: st.DrawFn, example: Any) -> Any:
    """The example with values replaced, removed and added at any depth."""
    changed = copy.deepcopy(example)
    for _ in range(draw(st.integers(0, CHANGES_MAX))):
        places = list(_places(changed))
        if not places:
            break
        parent, key = places[draw(st.integers(0, len(places) - 1))]
        match draw(st.sampled_from(("replace", "remove", "add"))):
            case "replace":
                parent[key] = draw(VALUES)
            case "remove":
                del parent[key]
            case "add" if isinstance(parent, dict):
                parent[draw(TEXTS)] = draw(VALUES)
            case _:
                parent.insert(key, draw(VALUES))
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value below this one, as the container that holds it and its key or index."""
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        yield from _places(value[key])


@st.composite
def mangled(draw: st.DrawFn, contents: st.SearchStrategy[bytes]) -> bytes:
    """The content with a few pieces cut out and put in, at any place or instead of a value."""
    content = draw(contents)
    for _ in range(draw(st.integers(0, CHANGES_MAX))):
        places = [match.span(1) for match in _VALUE.finditer(content)]
        start = draw(st.integers(0, len(content)))
        end = start + draw(st.integers(0, 16))
        if draw(st.booleans()) and places:
            start, end = places[draw(st.integers(0, len(places) - 1))]
        content = content[:start] + draw(PIECES) + content[end:]
    return content


def as_json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def as_yaml(value: Any) -> bytes:
    return yaml.dump(value, Dumper=yaml.CSafeDumper).encode()
