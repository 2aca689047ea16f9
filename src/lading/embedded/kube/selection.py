"""Label selectors and field selectors of a request."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lading.embedded.kube import status
from lading.embedded.kube.resources import Resource
from lading.kernel import selectors
from lading.kernel.errors import Malformed
from lading.kernel.selectors import Selector

Document = dict[str, Any]

_TERM = re.compile(r"(?P<field>[^=!]+)(?P<operator>==|=|!=)(?P<value>.*)", re.DOTALL)
_UNESCAPED_COMMA = re.compile(r"(?<!\\),")
_IF_ABSENT = {"spec.hostNetwork": "false", "spec.unschedulable": "false"}
"""The values of absent fields that are not compared as an empty string."""


class _Term(msgspec.Struct, frozen=True, kw_only=True):
    path: tuple[str, ...]
    value: str
    equal: bool

    def matches(self, document: Document) -> bool:
        return (_text_at(document, self.path) == self.value) is self.equal


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    labels: Selector
    fields: tuple[_Term, ...]

    @property
    def is_everything(self) -> bool:
        return not self.fields and not self.labels.requirements

    def matches(self, document: Document) -> bool:
        labels = document["metadata"].get("labels") or {}
        return self.labels.matches(labels) and all(term.matches(document) for term in self.fields)


def of(resource: Resource, query: Mapping[str, str], name: str = "") -> Selection:
    """Reads the selectors of a request; a name in the path selects one object."""
    try:
        labels = selectors.parse(query.get("labelSelector", ""))
    except Malformed as error:
        raise status.bad_request(f"unable to parse requirement: {error}") from None
    terms = [_term(resource, text) for text in _terms(query.get("fieldSelector", ""))]
    if name:
        terms.append(_Term(path=("metadata", "name"), value=name, equal=True))
    return Selection(labels=labels, fields=tuple(terms))


def _terms(text: str) -> list[str]:
    return [each for each in _UNESCAPED_COMMA.split(text) if each]


def _term(resource: Resource, text: str) -> _Term:
    match = _TERM.fullmatch(text)
    if match is None:
        raise status.bad_request(f"invalid selector: '{text}'; can't understand '{text}'")
    field = match["field"]
    has_namespace = resource.namespaced or not (resource.custom or resource.selectable_fields)
    scoped = ("metadata.namespace",) if has_namespace else ()
    known = ("metadata.name", *scoped, *resource.selectable_fields)
    if field not in known:
        if resource.custom:
            raise status.bad_request(f"field label not supported: {field}")
        shown = ", ".join(f'"{each}"' for each in known)
        raise status.bad_request(f'"{field}" is not a known field selector: only {shown}')
    value = re.sub(r"\\(.)", r"\1", match["value"])
    return _Term(path=tuple(field.split(".")), value=value, equal=match["operator"] != "!=")


def _text_at(document: Document, path: tuple[str, ...]) -> str:
    value: Any = document
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    match value:
        case None:
            return _IF_ABSENT.get(".".join(path), "")
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
