"""Reads YAML as JSON would be read: a date is text, a key is text, other types are refused.

A few lines of YAML can nest deeper than the parser's stack, or repeat a part (an alias) until no
machine holds it. Such a text is refused before it is unfolded.
"""

import math
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from lading.kernel import json_values

UNFOLDED_BYTES_MAX = 3 * 1024 * 1024
"""As much as a request to the API server may have."""
_TAG = "tag:yaml.org,2002:"


def value(content: bytes) -> Any:
    """The one document of the text; None for an empty text. Raises only YAMLError."""
    check_depth(content)
    loader = _JsonLoader(content)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        if _unfolded_bytes(root, {}) > UNFOLDED_BYTES_MAX:
            raise yaml.YAMLError("document contains excessive aliasing")
        return loader.construct_document(root)
    finally:
        loader.dispose()


def check_depth(content: bytes | str) -> None:
    """Raises YAMLError for a text so deep that composing it would overflow the stack."""
    level = 0
    for event in yaml.parse(content, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1
        if level > json_values.LEVELS_MAX:
            raise yaml.YAMLError("exceeded max depth")


def _checked(name: str, construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """PyYAML raises anything for a scalar that does not fit the tag written before it."""

    def constructed(loader: Any, node: Any) -> Any:
        try:
            return construct(loader, node)
        except (ValueError, LookupError) as error:
            raise ConstructorError(
                None, None, f"the value is not a valid {name}", node.start_mark
            ) from error

    return constructed


def _finite(loader: Any, node: Any) -> float:
    found = float(SafeConstructor.construct_yaml_float(loader, node))
    if not math.isfinite(found):
        raise ValueError("JSON has no such number")
    return found


def _key(key: Any) -> str | None:
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int() | float():
            return str(key)
        case _:
            return None


class _JsonLoader(yaml.CSafeLoader):
    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != f"{_TAG}timestamp"]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {
        f"{_TAG}null": _checked("null", SafeConstructor.construct_yaml_null),
        f"{_TAG}bool": _checked("bool", SafeConstructor.construct_yaml_bool),
        f"{_TAG}int": _checked("int", SafeConstructor.construct_yaml_int),
        f"{_TAG}float": _checked("float", _finite),
        f"{_TAG}str": SafeConstructor.construct_yaml_str,
        f"{_TAG}seq": SafeConstructor.construct_yaml_seq,
        f"{_TAG}map": SafeConstructor.construct_yaml_map,
        None: SafeConstructor.construct_undefined,
    }
    yaml_multi_constructors: ClassVar[dict[str | None, Any]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Keys become texts, as in JSON."""
        self.flatten_mapping(node)
        found: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = _key(self.construct_object(key_node, deep=True))
            if key is None:
                raise ConstructorError(None, None, "a key must be a string", key_node.start_mark)
            found[key] = self.construct_object(value_node, deep=deep)
        return found


def _unfolded_bytes(node: yaml.Node, known: dict[int, int], level: int = 0) -> int:
    """How much a node stands for; one that contains itself is nested without end."""
    if level > json_values.LEVELS_MAX:
        raise yaml.YAMLError("exceeded max depth")
    if id(node) not in known:
        below = (_unfolded_bytes(child, known, level + 1) for child in _children(node))
        known[id(node)] = len(node.value) + sum(below)
    return known[id(node)]


def _children(node: yaml.Node) -> list[yaml.Node]:
    match node:
        case yaml.SequenceNode():
            return list(node.value)
        case yaml.MappingNode():
            return [each for pair in node.value for each in pair]
        case _:
            return []
