"""The page docs/kinds.md: every field of every kind that Lading owns, from its schema. Pure."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from lading.api.definitions import Definition

Schema = dict[str, Any]

_INTRODUCTION = """\
# Kinds

The fields of the kinds that Lading owns, except those that Lading does not use. `lading crds`
prints the CustomResourceDefinitions, and `kubectl explain` shows every field. `[]` marks the
entries of a list. If another project owns a definition, the fields of that definition apply
([beside others](explanation/beside-others.md)).
"""
_CONDITIONS = "conditions"
"""Their fields are those of every Kubernetes condition."""
_UNUSED = "not used by Lading"
_SELECTOR = {"matchLabels", "matchExpressions"}
"""The fields of every label selector of Kubernetes."""


def page(definitions: Iterable[Definition]) -> str:
    return "\n".join((_INTRODUCTION, *map(_section, definitions)))


def _section(definition: Definition) -> str:
    schema = definition.schema()
    names = ", ".join(f"`{one}`" for one in (definition.plural, *definition.short_names))
    scope = "namespaced" if definition.namespaced else "cluster-wide"
    versions = ", ".join(f"`{definition.group}/{one}`" for one in definition.versions)
    rows = "".join(f"| `{path}` | {kind} | {text} |\n" for path, kind, text in _rows(schema))
    return (
        f"## {definition.kind}\n\n"
        f"{schema['description']} {versions}, {scope}; kubectl: {names}.\n\n"
        f"| field | type | meaning |\n|---|---|---|\n{rows}"
    )


def _rows(schema: Schema, path: str = "") -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        if place in ("apiVersion", "kind", "metadata") or _UNUSED in field.get("description", ""):
            continue
        if place not in ("spec", "status"):
            yield place, _type(field), _meaning(field, is_required=name in required)
        if name == _CONDITIONS or _is_selector(field):
            continue
        yield from _rows(field, place)
        yield from _rows(field.get("items", {}), f"{place}[]")
        entries = field.get("additionalProperties", {})
        yield from _rows(entries if isinstance(entries, dict) else {}, f"{place}{{}}")


def _is_selector(field: Schema) -> bool:
    return set(field.get("properties", ())) == _SELECTOR


def _type(field: Schema) -> str:
    if _is_selector(field):
        return "label selector"
    if field.get("type") == "array":
        return f"[]{_type(field['items'])}"
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if isinstance(field.get("additionalProperties"), dict):
        return f"map[string]{_type(field['additionalProperties'])}"
    return str(field.get("format") or field.get("type", "any"))


def _as_yaml(value: object) -> str:
    """As a user writes it: `false`, not `False`."""
    return value if isinstance(value, str) else json.dumps(value)


def _meaning(field: Schema, *, is_required: bool) -> str:
    parts = [field.get("description", "")]
    if is_required:
        parts.append("**Required.**")
    if "enum" in field:
        parts.append(f"One of {', '.join(f'`{one}`' for one in field['enum'] if one)}.")
    if "default" in field:
        parts.append(f"Default: `{_as_yaml(field['default'])}`.")
    rules = (str(one["message"]) for one in field.get("x-kubernetes-validations", ()))
    parts.extend(f"Rule: {one.rstrip('.')}." for one in rules)
    return " ".join(part for part in parts if part).replace("|", "\\|").replace("<", "&lt;")
