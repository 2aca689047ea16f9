"""Turns manifests of `deploy/` into templates of the Helm chart. Pure.

A value of a document that the chart's values set is a mark, an object of `Mark`. `text` writes the
document as YAML and each mark as the expression of Helm that it stands for.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

Document = dict[str, Any]
_LINE_CHARACTERS_MAX = 10_000
_MARK = re.compile(r"^( *)(- |)(?:([\w./-]+): )?'?@@(.*)@@'?$", re.MULTILINE)


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """`show` writes the value, `optional` leaves the whole line out where it is empty.

    `when` writes a list's item where the expression is true, `each` one item per element.
    """

    form: str
    expression: str
    item: str = ""

    def __str__(self) -> str:
        return f"@@{json.dumps([self.form, self.expression, self.item])}@@"


def show(expression: str) -> str:
    return str(Mark(form="show", expression=expression))


def optional(expression: str) -> str:
    return str(Mark(form="optional", expression=expression))


def when(expression: str, item: str) -> str:
    return str(Mark(form="when", expression=expression, item=item))


def each(expression: str, item: str) -> str:
    """The item may use `$index` and `$one`."""
    return str(Mark(form="each", expression=expression, item=item))


def text(document: Document) -> str:
    written: str = yaml.safe_dump(document, sort_keys=False, width=_LINE_CHARACTERS_MAX)
    return _MARK.sub(_expression, written)


def _expression(found: re.Match[str]) -> str:
    indent, dash, key, content = found.groups()
    form, expression, item = json.loads(content.replace("''", "'"))
    start = f"{indent}{dash}" + (f"{key}: " if key else "")
    match form:
        case "show":
            return f"{start}{{{{ {expression} }}}}"
        case "optional":
            depth = len(indent) + 2
            return (
                f"{indent}{{{{- with {expression} }}}}\n{indent}{key}:"
                f"\n{indent}  {{{{- toYaml . | nindent {depth} }}}}\n{indent}{{{{- end }}}}"
            )
        case "when":
            return f"{indent}{{{{- if {expression} }}}}\n{start}{item}\n{indent}{{{{- end }}}}"
        case _:
            loop = f"{{{{- range $index, $one := {expression} }}}}"
            return f"{indent}{loop}\n{start}{item}\n{indent}{{{{- end }}}}"


def merged(base: Document, patch: Document) -> Document:
    """A strategic merge as kustomize does it: items of lists are joined by their name."""
    result = dict(base)
    for key, value in patch.items():
        there = result.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            result[key] = merged(there, value)
        elif isinstance(value, list) and isinstance(there, list):
            result[key] = _joined(there, value)
        else:
            result[key] = value
    return result


def _joined(base: Iterable[Document], patch: Iterable[Document]) -> list[Document]:
    by_name = {one["name"]: one for one in base}
    for one in patch:
        by_name[one["name"]] = merged(by_name.get(one["name"], {}), one)
    return list(by_name.values())
