"""Checks a CustomResourceDefinition: its names, versions and columns.

The document has its defaults (singular, listKind). `definition_schema` checks the schemas, the
server checks whether the names are free.
"""

from collections.abc import Iterator

from lading.embedded.kube.schema import causes, definition_schema, names
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.schema.nodes import Document

_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_IMMUTABLE = ("group", "scope")


def problems(definition: Document, old: Document | None) -> list[Cause]:
    """Every problem of the definition; empty when it is valid."""
    spec = definition.get("spec") or {}
    found = [*_identity(spec), *_names(spec), *_versions(spec), *_conversion(spec)]
    if old is None:
        return [*_own_name(definition, spec), *found]
    return [*found, *_changes(spec, old.get("spec") or {}), *_stored_versions(definition, spec)]


def _own_name(definition: Document, spec: Document) -> Iterator[Cause]:
    name = (definition.get("metadata") or {}).get("name", "")
    if name != f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}":
        detail = 'must be spec.names.plural+"."+spec.group'
        yield causes.invalid("metadata.name", name, detail)


def _identity(spec: Document) -> Iterator[Cause]:
    group, scope = spec.get("group", ""), spec.get("scope", "")
    if not group:
        yield causes.required("spec.group")
    else:
        yield from _each("spec.group", group, names.dns_1123_subdomain(group))
        if "." not in group:
            detail = "should be a domain with at least one dot"
            yield causes.invalid("spec.group", group, detail)
    if not scope:
        yield causes.required("spec.scope")
    elif scope not in _SCOPES:
        yield causes.not_supported("spec.scope", scope, _SCOPES)
    if spec.get("preserveUnknownFields"):
        yield causes.invalid("spec.preserveUnknownFields", True, "cannot set to true")


def _names(spec: Document) -> Iterator[Cause]:
    given = spec.get("names") or {}
    for key in ("plural", "singular", "kind", "listKind"):
        field, name = f"spec.names.{key}", given.get(key, "")
        if not name:
            yield causes.required(field)
        elif key in ("kind", "listKind"):
            yield from _each(field, name, names.dns_1035_label(name.lower()))
        else:
            yield from _each(field, name, names.dns_1035_label(name))
    for key in ("shortNames", "categories"):
        for index, name in enumerate(given.get(key) or ()):
            yield from _each(f"spec.names.{key}[{index}]", name, names.dns_1035_label(name))


def _versions(spec: Document) -> Iterator[Cause]:
    versions = spec.get("versions") or []
    labels = [version.get("name", "") for version in versions]
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield causes.invalid("spec.versions", versions, detail)
    if len(set(labels)) != len(labels):
        yield causes.invalid("spec.versions", versions, "must contain unique version names")
    for index, version in enumerate(versions):
        field = f"spec.versions[{index}]"
        yield from _each(f"{field}.name", labels[index], names.dns_1035_label(labels[index]))
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema:
            yield from definition_schema.problems(schema, f"{field}.schema.openAPIV3Schema")
        else:
            yield causes.required(f"{field}.schema.openAPIV3Schema")
        yield from _columns(version, field)


def _columns(version: Document, field: str) -> Iterator[Cause]:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        place = f"{field}.additionalPrinterColumns[{index}]"
        for key in ("name", "type", "jsonPath"):
            if not column.get(key):
                yield causes.required(f"{place}.{key}")
        if column.get("type") not in (None, "", *_COLUMN_TYPES):
            yield causes.not_supported(f"{place}.type", column["type"], _COLUMN_TYPES)
        if not (column.get("jsonPath") or ".").startswith("."):
            detail = "must be a simple json path starting with ."
            yield causes.invalid(f"{place}.jsonPath", column["jsonPath"], detail)


def _conversion(spec: Document) -> Iterator[Cause]:
    strategy = (spec.get("conversion") or {}).get("strategy", "None")
    if strategy == "Webhook":
        detail = "this server does not call webhooks; use None"
        yield causes.invalid("spec.conversion.strategy", strategy, detail)
    elif strategy != "None":
        yield causes.not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))


def _changes(spec: Document, old: Document) -> Iterator[Cause]:
    for key in _IMMUTABLE:
        if spec.get(key) != old.get(key):
            yield causes.invalid(f"spec.{key}", spec.get(key, ""), "field is immutable")
    for key in ("kind", "plural"):
        new_name = (spec.get("names") or {}).get(key, "")
        if new_name != (old.get("names") or {}).get(key, ""):
            yield causes.invalid(f"spec.names.{key}", new_name, "field is immutable")


def _stored_versions(definition: Document, spec: Document) -> Iterator[Cause]:
    """Refuses to remove a version in which objects may be stored."""
    labels = [version.get("name") for version in spec.get("versions") or ()]
    stored = (definition.get("status") or {}).get("storedVersions") or ()
    for index, name in enumerate(stored):
        if name not in labels:
            detail = f"missing from spec.versions; {name} was previously a storage version"
            yield causes.invalid(f"status.storedVersions[{index}]", name, detail)


def _each(field: str, value: str, sentences: list[str]) -> Iterator[Cause]:
    for sentence in sentences:
        yield causes.invalid(field, value, sentence)
