"""The steps of every write: defaults, validation, admission, field owners, storage.

Nothing awaits between reading the old object and storing the new one, so a write is atomic.
"""

from collections.abc import Sequence
from typing import Any

from lading.embedded.kube import (
    admitting,
    builtin_rules,
    builtins,
    definitions,
    deleting,
    metadata,
    status,
)
from lading.embedded.kube.applying import server_side
from lading.embedded.kube.requests import Call, WriteOptions
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema import causes, rules, structural, validation
from lading.embedded.kube.schema.causes import Cause, Reason
from lading.embedded.kube.state import State, encode
from lading.kernel import json_values

Document = dict[str, Any]

OBJECT_BYTES_MAX = 1_572_864
"""The limit of etcd."""
_BLOCKING = frozenset({Reason.REQUIRED, Reason.TYPE_INVALID, Reason.TOO_LONG, Reason.TOO_MANY})
"""Problems after which CEL rules are not evaluated: they could fail, or take long."""
_RULES_NOT_CHECKED = causes.invalid(
    "",
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def create(
    state: State, call: Call, options: WriteOptions, document: Document, *, owned: bool = False
) -> Document:
    """Stores a new object; `owned` means that its managedFields are already set."""
    resource = call.resource
    metadata.check_accepts_content(state, call, document)
    metadata.begin(state, resource, document)
    if resource.has_status:
        document.pop("status", None)
    document = builtin_rules.begun(resource, _completed(resource, document))
    _validate(resource, document, None)
    if not owned:
        document = _with_owners(state, call, options, None, document)
    document = builtin_rules.admitted(state, resource, document)
    admitting.check(state, call, dry_run=options.dry_run, old=None, new=document)
    _refuse_twin(state, call, document)
    document = definitions.with_status(state, resource, document)
    if options.dry_run:
        return document
    return _stored(state, resource, document)


def _completed(resource: Resource, document: Document) -> Document:
    """The object with the defaults of its schema, and without empty lists and maps of structs."""
    whole = structural.default(resource.schema, document)
    if not resource.custom:
        return structural.drop_empties(resource.schema, whole)
    described = structural.drop_empties(builtins.object_metadata(), whole["metadata"])
    return {**whole, "metadata": described}


def _refuse_twin(state: State, call: Call, document: Document) -> None:
    resource, name = call.resource, document["metadata"]["name"]
    twin = state.find(resource, call.target.namespace, name)
    if twin is not None:
        raise status.already_exists(
            group=resource.group,
            plural=resource.plural,
            name=name,
            leaving="deletionTimestamp" in twin["metadata"],
        )


def update(
    state: State,
    call: Call,
    options: WriteOptions,
    old: Document,
    new: Document,
    *,
    owned: bool = False,
) -> Document:
    """Stores a changed object; raises a conflict if the client read an older version."""
    resource = call.resource
    _check_precondition(resource, old, new)
    new = _merged(call, old, new)
    changed = metadata.carry_over(resource, old, new)
    new = builtin_rules.filled(resource, _completed(resource, new))
    new = builtin_rules.carried(resource, old, new)
    metadata.bump_generation(resource, old, new)
    _validate(resource, new, old, changed)
    if not owned:
        new = _with_owners(state, call, options, old, new)
    admitting.check(state, call, dry_run=options.dry_run, old=old, new=new)
    new = definitions.with_status(state, resource, new)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if options.dry_run or json_values.are_equal(new, old):
        return new
    if deleting.is_finished(new):
        return deleting.finish(state, resource, new)
    return _stored(state, resource, new)


def _check_precondition(resource: Resource, old: Document, new: Document) -> None:
    named = {"group": resource.group, "plural": resource.plural, "name": old["metadata"]["name"]}
    version = new["metadata"].get("resourceVersion", "")
    if version not in ("", "0", old["metadata"]["resourceVersion"]):
        raise status.conflict(**named)
    uid = new["metadata"].get("uid", "")
    if uid not in ("", old["metadata"]["uid"]):
        why = (
            f"Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {old['metadata']['uid']}"
        )
        raise status.conflict(**named, why=why)


def _merged(call: Call, old: Document, new: Document) -> Document:
    """A request for /status changes only the status, any other request everything else."""
    resource = call.resource
    if call.target.subresource == "status":
        kept = {key: value for key, value in old.items() if key != "status"}
        kept["metadata"] = _metadata_through_status(resource, old, new)
        return {**kept, "status": new["status"]} if "status" in new else kept
    if not resource.has_status:
        return new
    kept = {key: value for key, value in new.items() if key != "status"}
    return {**kept, "status": old["status"]} if "status" in old else kept


def _metadata_through_status(resource: Resource, old: Document, new: Document) -> Document:
    """/status changes the metadata of built-in kinds, but not of custom resources."""
    if not resource.custom:
        return dict(new["metadata"])
    kept = dict(old["metadata"])
    if "managedFields" in new["metadata"]:
        kept["managedFields"] = new["metadata"]["managedFields"]
    return kept


def _with_owners(
    state: State, call: Call, options: WriteOptions, old: Document | None, new: Document
) -> Document:
    """Updates managedFields; the status is owned only by requests for /status."""
    resets_status = call.resource.has_status and not call.target.subresource
    hidden = {"status": new["status"]} if resets_status and "status" in new else {}
    owned = server_side.after_update(
        call.resource.schema,
        _without_status(old) if resets_status and old is not None else old,
        _without_status(new) if resets_status else new,
        manager=options.manager,
        operation="Update",
        subresource=call.target.subresource,
        api_version=call.resource.api_version,
        now=state.now(),
    )
    return {**owned, **hidden}


def _without_status(document: Document) -> Document:
    return {key: value for key, value in document.items() if key != "status"}


def _validate(
    resource: Resource, document: Document, old: Document | None, changed: Sequence[Cause] = ()
) -> None:
    """Raises if the object is invalid; `changed` are forbidden changes found before."""
    wrong = [*builtin_rules.problems(resource, document, old), *changed]
    wrong += _by_schema(resource, document, old)
    if not wrong:
        wrong += definitions.problems(resource, document, old)
    if wrong:
        name = str(document["metadata"].get("name", ""))
        raise status.invalid(group=resource.group, kind=resource.kind, name=name, found=wrong)


def _by_schema(resource: Resource, document: Document, old: Document | None) -> list[Cause]:
    """A custom resource may keep unchanged values that an older schema allowed (ratcheting)."""
    shape = validation.validate(resource.schema, document, old if resource.custom else None)
    if any(cause.reason in _BLOCKING for cause in shape):
        return [*shape, _RULES_NOT_CHECKED] if rules.tree_of(resource.schema) else shape
    return shape + rules.violations(resource.schema, document, old)


def _stored(state: State, resource: Resource, document: Document) -> Document:
    if len(encode(document)) > OBJECT_BYTES_MAX:
        raise status.too_large(OBJECT_BYTES_MAX)
    return state.put(resource, document)
