"""The way of every write: fields, defaults, validation, admission, owners, and then the store.

Verbs say what is to be written; here is decided whether it may be, and what the server adds.
Nothing waits between reading the old object and storing the new one, so a write is atomic.
"""

from typing import Any

from lading.servers.kube import (
    admitting,
    bodies,
    builtin_rules,
    definitions,
    deleting,
    metadata,
    namespaces,
    status,
)
from lading.servers.kube.applying import server_side
from lading.servers.kube.requests import Call, WriteOptions
from lading.servers.kube.resources import Resource
from lading.servers.kube.schema import causes, rule_tree, rules, structural
from lading.servers.kube.schema.causes import Cause, Reason
from lading.servers.kube.state import State, encode

Document = dict[str, Any]

OBJECT_BYTES_MAX = 1_572_864
"""What etcd accepts; a larger object would not live on a real cluster either."""
_BLOCKING = frozenset({Reason.REQUIRED, Reason.TYPE_INVALID, Reason.TOO_LONG, Reason.TOO_MANY})
"""After these, a rule could not be evaluated, or only at great cost."""
_JSON_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_RULES_NOT_CHECKED = causes.invalid(
    "",
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def create(
    state: State, call: Call, options: WriteOptions, document: Document, *, owned: bool = False
) -> Document:
    """Stores a new object; `owned` says that the owners of its fields are already written."""
    resource = call.resource
    namespaces.check_accepts_content(state, call, document)
    metadata.begin(state, resource, document)
    if resource.has_status:
        document.pop("status", None)
    document = builtin_rules.begun(resource, structural.default(resource.schema, document))
    _validate(resource, document, None)
    if not owned:
        document = _with_owners(state, call, options, None, document)
    admitting.check(state, call, dry_run=options.dry_run, old=None, new=document)
    if state.find(resource, call.target.namespace, document["metadata"]["name"]) is not None:
        raise status.already_exists(
            group=resource.group, plural=resource.plural, name=document["metadata"]["name"]
        )
    document = definitions.with_status(state, resource, document)
    if options.dry_run:
        return document
    return _stored(state, resource, document)


def update(
    state: State,
    call: Call,
    options: WriteOptions,
    old: Document,
    new: Document,
    *,
    owned: bool = False,
) -> Document:
    """Stores a changed object, unless nothing changed or somebody was faster."""
    resource = call.resource
    _check_precondition(resource, old, new)
    new = _merged(call, old, new)
    changed = metadata.carry_over(resource, old, new)
    new = builtin_rules.filled(resource, structural.default(resource.schema, new))
    metadata.bump_generation(resource, old, new)
    _validate(resource, new, old, changed)
    if not owned:
        new = _with_owners(state, call, options, old, new)
    admitting.check(state, call, dry_run=options.dry_run, old=old, new=new)
    new = definitions.with_status(state, resource, new)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if options.dry_run or new == old:
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
    """Through /status only the status changes; otherwise everything but the status."""
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
    """A custom resource keeps its metadata; of the built-in kinds a kubelet may annotate."""
    if not resource.custom:
        return dict(new["metadata"])
    kept = dict(old["metadata"])
    if "managedFields" in new["metadata"]:
        kept["managedFields"] = new["metadata"]["managedFields"]
    return kept


def _with_owners(
    state: State, call: Call, options: WriteOptions, old: Document | None, new: Document
) -> Document:
    """Writes down who owns which fields; a status is only ever owned through /status."""
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
    resource: Resource, document: Document, old: Document | None, found: list[Cause] | None = None
) -> None:
    shape = structural.validate(resource.schema, document)
    _refuse_wrong_types(resource, shape)
    wrong = builtin_rules.problems(resource, document, old) + (found or []) + shape
    if any(cause.reason in _BLOCKING for cause in shape):
        wrong += [_RULES_NOT_CHECKED] if rule_tree.of(resource.schema) else []
    else:
        wrong += rules.violations(resource.schema, document, old)
        wrong += definitions.problems(resource, document, old)
    if wrong:
        name = str(document["metadata"].get("name", ""))
        raise status.invalid(group=resource.group, kind=resource.kind, name=name, found=wrong)


def _refuse_wrong_types(resource: Resource, shape: list[Cause]) -> None:
    """A built-in kind, and any metadata, cannot even be decoded with a wrong type."""
    for cause in shape:
        is_typed = not resource.custom or cause.field.startswith("metadata")
        if cause.reason == Reason.TYPE_INVALID and is_typed:
            raise _undecodable(resource, cause)


def _undecodable(resource: Resource, cause: Cause) -> status.ApiError:
    """Text that lacks its format is not shown: in a Secret it is one."""
    if cause.bad_value in _JSON_TYPES:
        return bodies.cannot_unmarshal(resource, str(cause.bad_value), cause.field)
    if "must be of type byte" in cause.message:
        return bodies.cannot_be_handled(resource, "illegal base64 data at input byte 0")
    return bodies.cannot_unmarshal(resource, "string", cause.field)


def _stored(state: State, resource: Resource, document: Document) -> Document:
    if len(encode(document)) > OBJECT_BYTES_MAX:
        raise status.too_large(OBJECT_BYTES_MAX)
    return state.put(resource, document)
