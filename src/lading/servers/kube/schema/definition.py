"""Is a CustomResourceDefinition acceptable: its names, versions, columns and schemas.

The document has had its defaults (singular, listKind, storedVersions). Structure and CEL rules of
the schemas are checked in `definition_schema`; whether the names are free is the server's matter.
"""

from collections.abc import Iterator

from lading.servers.kube.schema import causes, definition_schema, names, selectable_fields
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document

_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_IMMUTABLE = ("group", "scope")


def problems(definition: Document, old: Document | None) -> list[Cause]:
    """Everything that keeps the definition from being served; empty when it is acceptable."""
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
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield causes.invalid("spec.preserveUnknownFields", True, detail)


def _names(spec: Document) -> Iterator[Cause]:
    given = spec.get("names") or {}
    for key in ("plural", "singular", "kind", "listKind"):
        field, name = f"spec.names.{key}", given.get(key, "")
        if not name:
            yield causes.required(field)
        elif key in ("kind", "listKind"):
            found = names.dns_1035_label(name.lower())
            mixed = [f"may have mixed case, but should otherwise match: {each}" for each in found]
            yield from _each(field, name, mixed)
        else:
            yield from _each(field, name, names.dns_1035_label(name))
    for key in ("shortNames", "categories"):
        for index, name in enumerate(given.get(key) or ()):
            yield from _each(f"spec.names.{key}[{index}]", name, names.dns_1035_label(name))
    if given.get("kind") and given.get("kind") == given.get("listKind"):
        detail = "kind and listKind may not be the same"
        yield causes.invalid("spec.names.listKind", given["listKind"], detail)


def _versions(spec: Document) -> Iterator[Cause]:
    versions = spec.get("versions") or []
    labels = [version.get("name", "") for version in versions]
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield causes.invalid("spec.versions", versions, detail)
    if len(set(labels)) != len(labels):
        yield causes.invalid("spec.versions", versions, "must contain unique version names")
    # The API server reports a part that all versions share where it stood before versions had one.
    shared = {
        part: bool(versions) and all(each.get(part) == versions[0].get(part) for each in versions)
        for part in ("schema", "additionalPrinterColumns", "subresources", "selectableFields")
    }
    for index, version in enumerate(versions):
        field = f"spec.versions[{index}]"
        yield from _each(f"{field}.name", labels[index], names.dns_1035_label(labels[index]))
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not schema:
            yield causes.required(f"{field}.schema.openAPIV3Schema")
        elif index == 0 or not shared["schema"]:
            place = "spec.validation" if shared["schema"] else f"{field}.schema"
            yield from definition_schema.problems(schema, f"{place}.openAPIV3Schema")
        if index == 0 or not shared["additionalPrinterColumns"]:
            place = "spec" if shared["additionalPrinterColumns"] else field
            yield from _columns(version, place)
        if index == 0 or not shared["subresources"]:
            yield from _scale(version, "spec" if shared["subresources"] else field)
        if index == 0 or not shared["selectableFields"]:
            place = "spec" if shared["selectableFields"] else field
            yield from selectable_fields.problems(version, place)


def _columns(version: Document, field: str) -> Iterator[Cause]:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        place = f"{field}.additionalPrinterColumns[{index}]"
        if not column.get("name"):
            yield causes.required(f"{place}.name")
        if not column.get("type"):
            yield causes.required(f"{place}.type")
        elif column["type"] not in _COLUMN_TYPES:
            detail = f"must be one of {','.join(_COLUMN_TYPES)}"
            yield causes.invalid(f"{place}.type", column["type"], detail)
        path = column.get("jsonPath")
        if not path:
            yield causes.required(f"{place}.JSONPath")
        elif not path.startswith("."):
            detail = "must be a simple json path starting with ."
            yield causes.invalid(f"{place}.JSONPath", path, detail)


def _scale(version: Document, field: str) -> Iterator[Cause]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        for key in ("specReplicasPath", "statusReplicasPath"):
            if not scale.get(key):
                yield causes.required(f"{field}.subresources.scale.{key}")


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
    """A version stays as long as objects may be stored in it."""
    labels = [version.get("name") for version in spec.get("versions") or ()]
    stored = (definition.get("status") or {}).get("storedVersions") or ()
    for index, name in enumerate(stored):
        if name not in labels:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield causes.invalid(f"status.storedVersions[{index}]", name, detail)


def _each(field: str, value: str, sentences: list[str]) -> Iterator[Cause]:
    for sentence in sentences:
        yield causes.invalid(field, value, sentence)
