"""The CEL rules of a schema (x-kubernetes-validations): compiled once, evaluated on documents.

Rules stand at any depth. A rule that names `oldSelf` runs only if there is an old value: fields
match by name, items of map lists by key, items of other lists never. A rule that cannot be
evaluated is a violation. A violation in an unchanged value is accepted (ratcheting).
"""

import collections
from collections.abc import Iterator
from typing import Any

import msgspec

from lading.embedded.kube.schema import causes, cel, cel_values, nodes
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.schema.nodes import Document, Schema
from lading.kernel import json_values

_ABSENT: Any = object()
TREES_MAX = 512


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled rule; `problem` is the compile error of a rule without a program."""

    title: str
    message: str
    program: cel.Program | None
    problem: str
    uses_old: bool


class RuleTree(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a schema that lead to rules."""

    schema: Schema
    seen: Schema
    """The schema as CEL sees it: resources also have their type and name."""
    rules: tuple[Rule, ...] = ()
    properties: dict[str, "RuleTree"] = {}
    values: "RuleTree | None" = None
    items: "RuleTree | None" = None


_trees: collections.OrderedDict[int, tuple[Schema, RuleTree | None]] = collections.OrderedDict()
"""By the identity of the schema, which the entry keeps alive; schemas never change."""


def violations(schema: Schema, document: Document, old_document: Document | None) -> list[Cause]:
    """Every rule that does not hold, named by its field."""
    tree = tree_of(schema)
    if tree is None:
        return []
    old = _ABSENT if old_document is None else old_document
    return list(_check(tree, _Place(value=document, old=old, path="")))


def tree_of(schema: Schema) -> RuleTree | None:
    """The rules of a whole object; None when there are none at any depth."""
    found = _trees.get(id(schema))
    if found is None:
        found = _trees[id(schema)] = (schema, _tree(schema, frozenset(), is_root=True))
        if len(_trees) > TREES_MAX:
            _trees.popitem(last=False)
    return found[1]


def _tree(schema: Any, above: frozenset[int], *, is_root: bool = False) -> RuleTree | None:
    if not isinstance(schema, dict) or id(schema) in above:
        return None  # a schema that contains itself: JSONSchemaProps has no rules
    above |= {id(schema)}
    seen = resource(schema) if is_root or nodes.is_embedded_resource(schema) else schema
    below = {key: _tree(each, above) for key, each in nodes.properties(schema).items()}
    tree = RuleTree(
        schema=schema,
        seen=seen,
        rules=tuple(rule(each, seen) for each in schema.get("x-kubernetes-validations") or ()),
        properties={key: each for key, each in below.items() if each is not None},
        values=_tree(nodes.values(schema), above),
        items=_tree(schema.get("items"), above),
    )
    return tree if tree.rules or tree.properties or tree.values or tree.items else None


def resource(schema: Schema) -> Schema:
    """The schema of a resource as rules see it: its own fields, its type and its name."""
    text = {"type": "string"}
    metadata = {"type": "object", "properties": {"name": text, "generateName": text}}
    declared = {**nodes.properties(schema), "apiVersion": text, "kind": text, "metadata": metadata}
    return {**schema, "properties": declared}


def rule(source: dict[str, Any], schema: Schema) -> Rule:
    """Compiles one entry of x-kubernetes-validations for the values of a schema."""
    text, message = str(source.get("rule", "")), str(source.get("message", "")).strip()
    kind = cel_values.type_of(schema)
    program, problem = None, ""
    try:
        program = cel.compiled(text, (("self", kind), ("oldSelf", kind)))
        if program.return_type not in ("bool", "dyn"):
            program, problem = None, "cel expression must evaluate to a bool"
    except cel.DoesNotCompile as error:
        problem = error.message
    return Rule(
        title=message or text.strip(),
        message=message or f"failed rule: {text.strip()}",
        program=program,
        problem=problem,
        uses_old=cel.uses(text, "oldSelf"),
    )


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """One value, its old value, and its path."""

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
    data: dict[str, Any] = {"self": cel_values.visible(tree.seen, place.value)}
    if has_old:
        data["oldSelf"] = cel_values.visible(tree.seen, place.old, place.value)
    for each in tree.rules:
        if each.uses_old and not has_old:
            continue
        cause = _violation(each, tree, place, data)
        if cause is not None and (each.uses_old or not place.is_unchanged()):
            yield cause


def _violation(rule: Rule, tree: RuleTree, place: _Place, data: dict[str, Any]) -> Cause | None:
    kind = tree.schema.get("type", "")
    if rule.program is None:
        return causes.invalid(place.path, kind, f"rule compile error: {rule.problem}")
    try:
        if rule.program.evaluate(data) is True:
            return None
    except cel.CelError as error:
        detail = f"{error.message} evaluating rule: {rule.title}"
        return causes.invalid(place.path, kind, detail)
    shown = causes.OMITTED if kind in ("object", "array") else place.value
    return causes.invalid(place.path, shown, rule.message)
