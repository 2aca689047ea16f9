"""Makes `messages.json`: the numbers and types of the binary fields of the built-in kinds.

It reads the .proto files and Go types of the Go modules k8s.io/api and k8s.io/apimachinery.
"""

import json
import pathlib
import re
from collections.abc import Iterable, Iterator

from lading.embedded.kube import builtins

MESSAGES = pathlib.Path(builtins.__file__).with_name("messages.json")
_PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"^  (?:(?P<label>optional|repeated) (?P<type>[\w.]+)|map<string, (?P<value>[\w.]+)>)"
    r" (?P<name>\w+) = (?P<number>\d+);",
    re.MULTILINE,
)
_GO_FIELD = re.compile(
    r'^\t\w+ +(?P<type>[\w.*\[\]]+) +`json:"(?P<name>\w+),omitempty" protobuf:"', re.MULTILINE
)
_GO_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_GO_NUMBERS = frozenset({"bool", "int32", "int64", "float64"})
_SCALARS = frozenset({"bool", "bytes", "double", "int32", "int64", "string"})
DELETE_OPTIONS = "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions"
Message = dict[str, list[str]]


def text(directories: Iterable[pathlib.Path]) -> str:
    """The content of `messages.json`."""
    known = {name: fields for each in directories for name, fields in _messages(each)}
    lines = [
        f"{json.dumps(name)}:{json.dumps(fields, sort_keys=True, separators=(',', ':'))}"
        for name, fields in sorted(_reachable(known).items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _messages(directory: pathlib.Path) -> Iterator[tuple[str, Message]]:
    for path in sorted(directory.rglob("generated.proto")):
        text = path.read_text()
        found = _PACKAGE.search(text)
        package = found[1] if found else ""
        omitted = _omitted_zeros(path.with_name("types.go"))
        for name, body in _MESSAGE.findall(text):
            yield f"{package}.{name}", dict(_fields(package, body, omitted.get(name, set())))


def _omitted_zeros(path: pathlib.Path) -> dict[str, set[str]]:
    """By type, the numbers of which the binary form sends a zero and the JSON form omits it."""
    text = path.read_text() if path.exists() else ""
    return {
        name: {each["name"] for each in _GO_FIELD.finditer(body) if each["type"] in _GO_NUMBERS}
        for name, body in _GO_STRUCT.findall(text)
    }


def _fields(package: str, body: str, omitted: set[str]) -> Iterator[tuple[str, list[str]]]:
    for match in _FIELD.finditer(body):
        label = "map" if match["value"] else match["label"]
        if match["name"] in omitted:
            label = "nonzero"
        yield match["number"], [match["name"], label, _qualified(package, match)]


def _qualified(package: str, match: re.Match[str]) -> str:
    name = match["value"] or match["type"]
    if name in _SCALARS:
        return name
    return name.lstrip(".") if "." in name else f"{package}.{name}"


def _reachable(known: dict[str, Message]) -> dict[str, Message]:
    wanted = [DELETE_OPTIONS, *(message_of(kind.definition) for kind in builtins.kinds())]
    kept: dict[str, Message] = {}
    while wanted:
        name = wanted.pop()
        if name in known and name not in kept:
            kept[name] = known[name]
            wanted.extend(kind for _, _, kind in known[name].values())
    return kept


def message_of(definition: str) -> str:
    """`io.k8s.api.core.v1.Pod` is the message `k8s.io.api.core.v1.Pod`."""
    return definition.replace("io.k8s.", "k8s.io.", 1)
