"""Server-side apply, and the bookkeeping of owners after every other write.

`apply` merges a configuration into the live object, removes what its manager gave up and no
other owns, and refuses to change what others own unless forced. `after_update` records which
manager changed what by create, update and patch. Defaults and validation are the caller's.
"""

import json
from collections.abc import Iterator
from typing import Any

from lading.embedded.kube import builtins
from lading.embedded.kube.applying import owners, paths, typed
from lading.embedded.kube.applying.owners import Manager, Owned, Owners
from lading.embedded.kube.applying.paths import ApplyConflict, ApplyError, Conflict, Path, Paths
from lading.embedded.kube.schema import structural, validation
from lading.embedded.kube.schema.causes import Reason
from lading.embedded.kube.schema.nodes import Document, Schema
from lading.kernel.values import replace

_BOOKKEEPING = (
    "creationTimestamp generation managedFields name namespace resourceVersion selfLink uid"
)
_NEVER_OWNED: Paths = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {("f:metadata", f"f:{name}") for name in _BOOKKEEPING.split()}
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KINDS = {"integer": "numeric (int or float)", "number": "numeric (int or float)", "object": "map"}
"""Type names in messages of server-side apply, where they differ."""
_KUBECTL = "kubectl"  # the one manager that migrates from client-side apply
_BEFORE_FIRST_APPLY = "before-first-apply"


def apply(
    schema: Schema,
    live: Document | None,
    applied: Document,
    *,
    manager: str,
    subresource: str,
    force: bool,
    api_version: str,
    now: str,
) -> Document:
    """Returns the object after the apply; raises ApplyConflict or ApplyError, changing nothing."""
    schema = _with_metadata(schema)
    _refuse_what_cannot_be_applied(schema, applied)
    who = owners.manager(
        name=manager, operation=owners.APPLY, api_version=api_version, subresource=subresource
    )
    base = _without_bookkeeping(live or {})
    known = owners.read(live or {}) or _before_first_apply(schema, live, api_version, now)
    named = typed.field_set(schema, applied)
    mine = _owned_by_request(named, subresource)
    before = known.pop(who, None)
    merged = typed.merge(schema, base, _visible(applied, subresource))
    if before is not None and not before.fields <= mine:
        everyone = [owned.fields for owned in known.values()]
        merged = _give_up(schema, merged, last=before.fields, held=named.union(*everyone))
    changes = typed.compare(schema, base, merged)
    conflicts = _conflicts(known, frozenset(changes.modified | changes.added))
    if conflicts and not force:
        _raise_unless_migrating(schema, live or {}, conflicts, manager)
    known = _without_lost_fields(known, changes)
    known[who] = Owned(fields=mine, api_version=api_version, time=now)
    if live is not None and typed.same(base, merged):
        known[who] = replace(known[who], time=before.time if before else "")
    if manager == _KUBECTL:
        merged = _with_last_applied(merged, applied)
    return owners.write(merged, known)


def after_update(
    schema: Schema,
    old: Document | None,
    new: Document,
    *,
    manager: str,
    operation: str,
    subresource: str,
    api_version: str,
    now: str,
) -> Document:
    """Returns the new object with the owners of its fields after a create, update or patch."""
    schema = _with_metadata(schema)
    known = {} if owners.asks_for_reset(new) else _known_owners(old, new, subresource)
    if old is not None and not known:
        return owners.write(new, {})  # managedFields begin with a create or an apply
    plain_old, plain_new = _without_bookkeeping(old or {}), _without_bookkeeping(new)
    try:
        changes = typed.compare(schema, plain_old, plain_new)
    except ApplyError:
        return owners.write(new, known)  # an item without its key does not fail a write
    changed = frozenset(changes.added | changes.modified) - _NEVER_OWNED
    who = owners.manager(
        name=manager, operation=operation, api_version=api_version, subresource=subresource
    )
    known = _without_lost_fields(known, changes)
    mine = _owned_by_request(changed, subresource)
    if mine:
        before = known[who].fields if who in known else paths.EMPTY
        known[who] = Owned(fields=mine | before, api_version=api_version, time=now)
    return owners.write(new, owners.folded(known))


def _known_owners(old: Document | None, new: Document, subresource: str) -> Owners:
    if subresource:
        return owners.read(old or {})
    return owners.read(new) or owners.read(old or {})


def _with_metadata(schema: Schema) -> Schema:
    """The schema with the metadata that every object has; a CRD does not declare it."""
    declared = schema.get("properties") or {}
    text = {"type": "string"}
    fixed = {"apiVersion": text, "kind": text, "metadata": builtins.object_metadata()}
    return {**schema, "properties": {**declared, **fixed}}


def _refuse_what_cannot_be_applied(schema: Schema, applied: Document) -> None:
    if owners.has_entries(applied):
        raise ApplyError("metadata.managedFields must be nil", code=400)
    wrong = next(_misfits(schema, applied), None)
    if wrong is not None:
        raise ApplyError(f"failed to create typed patch object ({_title(applied)}): {wrong}")


def _misfits(schema: Schema, applied: Document) -> Iterator[str]:
    """The problems of a configuration; nulls are accepted, since defaulting drops them."""
    _, unknown = structural.prune(schema, applied)
    yield from (f".{path}: field not declared in schema" for path in unknown)
    for cause in validation.validate(schema, applied):
        if cause.reason == Reason.TYPE_INVALID and cause.bad_value != "null":
            wanted = cause.message.rpartition("must be of type ")[2].partition(":")[0]
            yield f".{cause.field}: expected {_KINDS.get(wanted, wanted)}, got {cause.bad_value}"
    for cause in validation.duplicates(schema, applied, ""):
        place = cause.field.rpartition("[")[0]
        yield f".{place}: duplicate entries for key {paths.shown_key(cause.bad_value)}"


def _title(applied: Document) -> str:
    metadata = applied.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    version = str(applied.get("apiVersion", ""))
    group_version = version if "/" in version else f"/{version}"
    name = f"{named.get('namespace', '')}/{named.get('name', '')}"
    return f"{name}; {group_version}, Kind={applied.get('kind', '')}"


def _without_bookkeeping(document: Document) -> Document:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return document
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**document, "metadata": kept}


def _visible(applied: Document, subresource: str) -> Document:
    """The fields that an apply may change: for a subresource, only that part of the object.

    The resourceVersion stays: it is a precondition.
    """
    if subresource != "status":
        return applied
    part = {key: applied[key] for key in ("status",) if key in applied}
    version = applied.get("metadata", {}).get("resourceVersion")
    return {**part, "metadata": {"resourceVersion": version}} if version else part


def _owned_by_request(fields: Paths, subresource: str) -> Paths:
    fields -= _NEVER_OWNED
    if subresource == "status":
        return frozenset(path for path in fields if path[0] == "f:status")
    return fields


def _before_first_apply(
    schema: Schema, live: Document | None, api_version: str, now: str
) -> Owners:
    """An object without managed fields: one manager owns all of it."""
    if live is None:
        return {}
    everything = typed.compare(schema, {}, _without_bookkeeping(live)).added
    who = Manager(owners.UPDATE, _BEFORE_FIRST_APPLY, api_version, "")
    fields = frozenset(everything) - _NEVER_OWNED
    return {who: Owned(fields=fields, api_version=api_version, time=now)}


def _give_up(schema: Schema, merged: Document, *, last: Paths, held: Paths) -> Document:
    """Removes what the manager owned before and no manager owns now."""
    named_last = paths.with_named_fields(schema, last)
    whole = paths.with_named_fields(schema, typed.field_set(schema, merged))
    pruned = typed.remove(schema, merged, named_last)
    kept = paths.with_named_fields(schema, typed.field_set(schema, pruned))
    kept |= paths.with_named_fields(schema, held)
    restored = typed.remove(schema, merged, whole - kept)
    left = paths.with_named_fields(schema, typed.field_set(schema, restored))
    return typed.remove(schema, merged, (whole - left) & named_last)


def _conflicts(known: Owners, changed: Paths) -> list[tuple[Manager, Path]]:
    return [(who, path) for who in sorted(known) for path in sorted(known[who].fields & changed)]


def _raise_unless_migrating(
    schema: Schema, live: Document, conflicts: list[tuple[Manager, Path]], manager: str
) -> None:
    """kubectl may take over the fields of its own last client-side apply."""
    allowed = _last_applied_fields(schema, live) if manager == _KUBECTL else paths.EMPTY
    left = tuple(
        Conflict(manager=str(who), field=paths.shown(path))
        for who, path in conflicts
        if path not in allowed
    )
    if left:
        raise ApplyConflict(left)


def _last_applied_fields(schema: Schema, live: Document) -> Paths:
    """The fields of the last-applied annotation that still have the value it gave them."""
    last = _last_applied(live)
    if last is None or last.get("apiVersion") != live.get("apiVersion"):
        return paths.EMPTY
    changes = typed.compare(schema, last, live)
    return typed.field_set(schema, last) - changes.modified - changes.removed - changes.added


def _with_last_applied(document: Document, applied: Document) -> Document:
    """Updates the annotation of client-side apply if there is one, so both ways of apply work."""
    metadata = document["metadata"]
    if _LAST_APPLIED not in (metadata.get("annotations") or {}):
        return document
    text = json.dumps(applied, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
    annotations = {**metadata["annotations"], _LAST_APPLIED: text}
    return {**document, "metadata": {**metadata, "annotations": annotations}}


def _last_applied(live: Document) -> Document | None:
    annotations = live.get("metadata", {}).get("annotations") or {}
    try:
        last: Any = json.loads(annotations.get(_LAST_APPLIED, "null"))
    except ValueError:
        return None
    return last if isinstance(last, dict) else None


def _without_lost_fields(known: Owners, changes: typed.Comparison) -> Owners:
    lost = changes.modified | changes.added | changes.removed
    return {who: owned.without(lost) for who, owned in known.items()}
