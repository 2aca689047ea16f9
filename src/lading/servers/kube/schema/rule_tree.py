"""A schema reduced to its CEL rules, compiled once: the parts of a document that rules look at.

Trees are cached by the identity of the schema, which the cache keeps alive; a schema is never
changed after it was given.
"""

import collections
import re
from typing import Any

import msgspec

from lading.servers.kube.schema import nodes
from lading.servers.kube.schema.cel import programs, values
from lading.servers.kube.schema.cel.errors import DoesNotCompile
from lading.servers.kube.schema.cel.programs import Program
from lading.servers.kube.schema.nodes import Schema

TREES_MAX = 512
_OPTIONAL_OLD = (
    "cel.bind(oldSelf, hasOldSelf ? optional.of(oldSelf) : optional.none(), ({expression}))"
)
_QUOTED_STEP = re.compile(r"\['((?:\\.|[^'\\])*)'\]")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, ready to run; `problem` says why it cannot."""

    title: str
    message: str
    program: Program | None
    message_program: Program | None
    problem: str
    message_problem: str
    uses_old: bool
    old_is_optional: bool
    reason: str
    field_path: str


class RuleTree(msgspec.Struct, frozen=True, kw_only=True):
    schema: Schema
    seen: Schema
    """The schema through which CEL sees the value: at the root with a little metadata."""
    rules: tuple[Rule, ...] = ()
    properties: dict[str, "RuleTree"] = {}
    values: "RuleTree | None" = None
    items: "RuleTree | None" = None
    all_of: tuple["RuleTree", ...] = ()


_trees: collections.OrderedDict[int, tuple[Schema, RuleTree | None]] = collections.OrderedDict()


def of(schema: Schema) -> RuleTree | None:
    """The rules of a whole object; None when there are none at any depth."""
    found = _trees.get(id(schema))
    if found is None:
        found = _trees[id(schema)] = (schema, _tree(schema, schema, frozenset(), is_root=True))
        if len(_trees) > TREES_MAX:
            _trees.popitem(last=False)
    return found[1]


def _tree(
    schema: Schema, typed: Schema, above: frozenset[int], *, is_root: bool = False
) -> RuleTree | None:
    """`typed` has the types: inside allOf, `schema` has only the rules."""
    if id(schema) in above:
        return None  # a schema that contains itself: JSONSchemaProps has no rules
    above |= {id(schema)}
    seen = resource(typed) if is_root or nodes.is_embedded_resource(typed) else typed
    below = {
        key: tree
        for key, each in nodes.properties(schema).items()
        if (tree := _tree(each, nodes.properties(typed).get(key, each), above)) is not None
    }
    alternatives = (_tree(each, typed, above) for each in schema.get("allOf") or ())
    tree = RuleTree(
        schema=typed,
        seen=seen,
        rules=tuple(rule(each, seen) for each in schema.get("x-kubernetes-validations") or ()),
        properties=below,
        values=_below(nodes.values(schema), nodes.values(typed), above),
        items=_below(schema.get("items"), typed.get("items"), above),
        all_of=tuple(each for each in alternatives if each is not None),
    )
    is_empty = not (tree.rules or below or tree.values or tree.items or tree.all_of)
    return None if is_empty else tree


def _below(schema: Any, typed: Any, above: frozenset[int]) -> RuleTree | None:
    if not isinstance(schema, dict):
        return None
    return _tree(schema, typed if isinstance(typed, dict) else schema, above)


def resource(schema: Schema) -> Schema:
    """What rules see of a resource: its own fields, its type, and its name."""
    text = {"type": "string"}
    metadata = {"type": "object", "properties": {"name": text, "generateName": text}}
    declared = {**nodes.properties(schema), "apiVersion": text, "kind": text, "metadata": metadata}
    return {**schema, "properties": declared}


def rule(source: dict[str, Any], schema: Schema) -> Rule:
    """Compiles one entry of x-kubernetes-validations for the values of a schema."""
    text, optional = str(source.get("rule", "")), bool(source.get("optionalOldSelf"))
    uses_old = programs.uses(text, "oldSelf")
    expression = expression_of(source)
    kind = values.type_of(schema)
    variables = (("self", kind), ("oldSelf", "dyn" if optional else kind), ("hasOldSelf", "bool"))
    program, problem = _compiled(expression, variables, wanted="bool")
    message_source = str(source.get("messageExpression", ""))
    message_program, message_problem = None, ""
    if message_source:
        message_program, message_problem = _compiled(message_source, variables, wanted="string")
    message, title = str(source.get("message", "")).strip(), text.strip()
    return Rule(
        title=message or title,
        message=message or f"failed rule: {title}",
        program=program,
        message_program=message_program,
        problem=problem,
        message_problem=message_problem,
        uses_old=uses_old,
        old_is_optional=optional,
        reason=str(source.get("reason", "")),
        field_path=_field_path(str(source.get("fieldPath", ""))),
    )


def expression_of(source: dict[str, Any]) -> str:
    """What is compiled for a rule: with an optional oldSelf, wrapped in what makes it one."""
    text = str(source.get("rule", ""))
    return _OPTIONAL_OLD.format(expression=text) if source.get("optionalOldSelf") else text


def _compiled(
    expression: str, variables: programs.Variables, *, wanted: str
) -> tuple[Program | None, str]:
    try:
        program = programs.compiled(expression, variables)
    except DoesNotCompile as error:
        return None, error.message
    if program.return_type not in (wanted, "dyn"):
        return None, f"cel expression must evaluate to a {wanted}"
    return program, ""


def _field_path(json_path: str) -> str:
    """`.a.b['c d']` as a field path: `a.b.c d` for fields."""
    return _QUOTED_STEP.sub(lambda match: f".{match[1]}", json_path).removeprefix(".")
