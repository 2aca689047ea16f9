"""Kubernetes objects from YAML or JSON files, with the line of each value.

Reads as kubectl does (YAML 1.1, several documents, lists), but refuses duplicate keys and files
that are larger or deeper than any manifest.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from lading.files import bounded_content, read_bounded
from lading.kernel import yaml_text
from lading.kernel.values import Redacted

VALUES_MAX = 1_000_000  # aliases count each time, which stops "billion laughs" files
DEPTH_MAX = 200
_MANIFEST_SUFFIXES = (".json", ".yaml", ".yml")
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"

_WORDS: dict[type, str] = {str: "text", list: "a list", int: "a number", float: "a number"}

FieldPath = tuple[str | int, ...]


class UnreadableDocument(click.ClickException):
    """The file does not have objects as YAML; the message names the line."""


class ManifestSource(Redacted, frozen=True):
    """One object, where it came from, and the line of each of its values."""

    shown = ("file", "content")

    file: str
    content: dict[str, Any]
    lines: dict[FieldPath, int]

    @property
    def api_version(self) -> str:
        return str(self.content["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def metadata(self) -> dict[str, Any]:
        return self.content.get("metadata") or {}

    def line(self, path: FieldPath) -> int:
        """The line of the value, or of the nearest parent in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def read(names: Sequence[str]) -> list[ManifestSource]:
    """The objects of files, of the manifests in folders, and of standard input for `-`."""
    found = [source for file in files(names) for source in objects(file, text(file))]
    if not found:
        raise UnreadableDocument(f"{', '.join(names)}: there is no object in it")
    return found


def files(names: Sequence[str]) -> list[str]:
    return [file for name in names for file in _files(name)]


def _files(name: str) -> list[str]:
    """The manifests directly in a folder, by name, as kubectl does.

    An empty name, for example of an unset variable, would mean the current folder.
    """
    if not name:
        raise click.BadParameter(
            "the name of the file is empty; write a FILE, a folder, or -", param_hint="-f"
        )
    if name == "-" or not Path(name).is_dir():
        return [name]
    return sorted(str(path) for path in Path(name).iterdir() if path.suffix in _MANIFEST_SUFFIXES)


def objects(file: str, text: str) -> list[ManifestSource]:
    """The objects in the text of a file; items of a List one by one."""
    try:
        yaml_text.check_depth(text)
        nodes = [node for node in yaml.compose_all(text, Loader=yaml.CSafeLoader) if node]
        return [source for node in nodes for source in _sources(file, node)]
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UnreadableDocument(f"{file}{line}: this is not YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableDocument(f"{file}: this is not YAML: {reason}") from error


def text(file: str) -> str:
    try:
        return _content(file).decode()
    except OSError as error:
        raise UnreadableDocument(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableDocument(f"{file}: this is not UTF-8 text") from error


def _content(file: str) -> bytes:
    if file == "-":
        return bounded_content(sys.stdin.buffer)
    return read_bounded(Path(file))


def _sources(file: str, node: yaml.Node) -> Iterator[ManifestSource]:
    reader = _Reader(file)
    content = reader.value(node, ())
    if content is None:
        return
    items = content.get("items") if isinstance(content, dict) else None
    if isinstance(items, list) and content.get("kind") == "List":
        for index, item in enumerate(items):
            at = ("items", index)
            inside = {p[2:]: line for p, line in reader.lines.items() if p[:2] == at}
            yield _checked(ManifestSource(file, item, inside))
    else:
        yield _checked(ManifestSource(file, content, reader.lines))


def _checked(source: ManifestSource) -> ManifestSource:
    """Every command needs an object with texts as kind and name."""
    for path, problem in _problems(source.content):
        field_name = f"{'.'.join(path)}: " if path else ""
        raise UnreadableDocument(f"{source.file}:{source.line(path)}: {field_name}{problem}")
    return source


def _problems(content: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(content, dict):
        found = _WORDS.get(type(content), "a value")
        yield (), f"expected an object with apiVersion and kind, found {found}"
        return
    for key in ("apiVersion", "kind"):
        if not content.get(key):
            yield (), f"the object has no {key}"
        elif not isinstance(content[key], str):
            yield (key,), "expected text"
    metadata = content.get("metadata") or {}
    if not isinstance(metadata, dict):
        yield ("metadata",), "expected fields such as name, found a single value"
        return
    for key in ("name", "namespace"):
        if not isinstance(metadata.get(key) or "", str):
            yield ("metadata", key), f'expected text; write it in quotes: "{metadata[key]}"'


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._constructor = yaml.constructor.SafeConstructor()
        self.lines: dict[FieldPath, int] = {}

    def value(self, node: yaml.Node, path: FieldPath) -> Any:
        self.lines[path] = node.start_mark.line + 1
        if len(self.lines) > VALUES_MAX or len(path) > DEPTH_MAX:
            raise UnreadableDocument(f"{self._file}: the file is too large or too deeply nested")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        if node.tag == _TIMESTAMP:  # a date stays the text that was written
            return node.value
        return self._constructor.construct_object(node)

    def _mapping(self, node: yaml.MappingNode, path: FieldPath) -> dict[str, Any]:
        if any(key.tag == _MERGE for key, _ in node.value):
            self._constructor.flatten_mapping(node)
        found: dict[str, Any] = {}
        for key_node, child in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            line = key_node.start_mark.line + 1
            if key is None:
                raise UnreadableDocument(f"{self._file}:{line}: a key must be a single word")
            if key in found:
                raise UnreadableDocument(f"{self._file}:{line}: duplicate key {key!r}")
            found[key] = self.value(child, (*path, key))
            self.lines[*path, key] = line
        return found
