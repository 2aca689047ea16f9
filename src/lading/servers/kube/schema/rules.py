"""The CEL rules of a schema (x-kubernetes-validations), evaluated on a document and its old form.

Rules stand at any depth. A rule that names `oldSelf` runs only where there is an old value to
compare with: fields by name, items of map lists by key, nothing inside other lists. A rule that
cannot be evaluated is a violation. What was wrong before and did not change passes (ratcheting).
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from lading.kernel import json_values
from lading.servers.kube.schema import causes, nodes, rule_tree
from lading.servers.kube.schema.causes import Cause, Reason
from lading.servers.kube.schema.cel import values
from lading.servers.kube.schema.cel.errors import CelError
from lading.servers.kube.schema.nodes import Document, Schema
from lading.servers.kube.schema.rule_tree import Rule, RuleTree

_ABSENT: Any = object()


def violations(schema: Schema, document: Document, old_document: Document | None) -> list[Cause]:
    """Every rule that does not hold, named by the field it stands on."""
    tree = rule_tree.of(schema)
    if tree is None:
        return []
    old = _ABSENT if old_document is None else old_document
    return list(_check(tree, _Place(value=document, old=old, path="")))


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """One value, the old value it corresponds to, and where it is."""

    value: Any
    old: Any
    path: str

    def is_unchanged(self) -> bool:
        return self.old is not _ABSENT and json_values.are_equal(self.value, self.old)


def _check(tree: RuleTree, place: _Place) -> Iterator[Cause]:
    if place.value is None:
        return
    if tree.rules:
        yield from _check_rules(tree, place)
    for alternative in tree.all_of:
        yield from _check(alternative, place)
    match place.value:
        case dict():
            yield from _check_fields(tree, place)
        case list() if tree.items is not None:
            yield from _check_items(tree.items, tree.schema, place)


def _check_fields(tree: RuleTree, place: _Place) -> Iterator[Cause]:
    old = place.old if isinstance(place.old, dict) else {}
    for key, value in place.value.items():
        below, path = tree.properties.get(key), f"{place.path}.{key}" if place.path else key
        if below is None and key not in nodes.properties(tree.schema):
            below, path = tree.values, f"{place.path}[{key}]"
        if below is not None:
            yield from _check(below, _Place(value=value, old=old.get(key, _ABSENT), path=path))


def _check_items(below: RuleTree, schema: Schema, place: _Place) -> Iterator[Cause]:
    before = nodes.items_by_key(schema, place.old)
    for index, item in enumerate(place.value):
        old = before.get(nodes.item_label(schema, item), _ABSENT) if before else _ABSENT
        yield from _check(below, _Place(value=item, old=old, path=f"{place.path}[{index}]"))


def _check_rules(tree: RuleTree, place: _Place) -> Iterator[Cause]:
    has_old = place.old is not _ABSENT and place.old is not None
    data: dict[str, Any] = {"self": values.visible(tree.seen, place.value)}
    old = values.visible(tree.seen, place.old, place.value) if has_old else None
    for rule in tree.rules:
        if rule.uses_old and not has_old and not rule.old_is_optional:
            continue
        names = {**data, "oldSelf": old} if rule.uses_old else data
        if rule.old_is_optional:
            names = {**names, "hasOldSelf": has_old}
        cause = _violation(rule, tree, place, names)
        if cause is not None and (rule.uses_old or not place.is_unchanged()):
            yield cause


def _violation(rule: Rule, tree: RuleTree, place: _Place, names: dict[str, Any]) -> Cause | None:
    kind = tree.schema.get("type", "")
    if rule.problem:
        return causes.invalid(place.path, kind, f"rule compile error: {rule.problem}")
    assert rule.program is not None, "a rule without a problem has a program"
    try:
        if rule.program.evaluate(names) is True:
            return None
    except CelError as error:
        return causes.invalid(place.path, kind, _evaluation_error(rule, error.message))
    shown = causes.OMITTED if kind in ("object", "array") else place.value
    path = ".".join(filter(None, (place.path, rule.field_path)))
    return _cause(rule, path, shown, _message(rule, names))


def _evaluation_error(rule: Rule, message: str) -> str:
    if message.startswith("no such overload"):
        what = "call arguments did not match a supported operator, function or macro signature"
        return f"'{message}': {what} for rule: {rule.title}"
    return f"{message} evaluating rule: {rule.title}"


def _message(rule: Rule, names: dict[str, Any]) -> str:
    """The rule's own words; a message expression that fails or says nothing falls back."""
    if rule.message_program is not None:
        try:
            text = rule.message_program.evaluate(names)
        except CelError:
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text.strip()
    return rule.message


def _cause(rule: Rule, path: str, value: Any, detail: str) -> Cause:
    match rule.reason:
        case Reason.FORBIDDEN:
            return causes.forbidden(path, detail)
        case Reason.REQUIRED:
            return causes.required(path, detail)
        case Reason.DUPLICATE:
            return causes.duplicate(path, value)
        case _:
            return causes.invalid(path, value, detail)
