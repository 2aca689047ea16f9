"""Reads YAML as JSON would be read: a date is text.

An alias repeats a part of the document, so that a few lines can stand for more than any machine
holds, or for themselves. Such a text is refused before it is unfolded.
"""

from typing import Any

import yaml

from lading.servers.kube import json_values

UNFOLDED_BYTES_MAX = 3 * 1024 * 1024
"""As much as a body may have: what is written without aliases is never refused."""


class _JsonLoader(yaml.CSafeLoader):
    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def value(body: bytes) -> Any:
    """Raises YAMLError for what is no YAML, or would become too large."""
    loader = _JsonLoader(body)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        if _unfolded_bytes(root, {}) > UNFOLDED_BYTES_MAX:
            raise yaml.YAMLError("document contains excessive aliasing")
        return loader.construct_document(root)
    finally:
        loader.dispose()


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
