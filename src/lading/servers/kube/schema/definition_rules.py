"""Are the CEL rules of a CRD's schema sound: they compile, give a boolean, and may use oldSelf."""

from collections.abc import Iterator
from typing import Any

from lading.servers.kube.schema import causes, nodes, rule_tree
from lading.servers.kube.schema.causes import Cause, Reason
from lading.servers.kube.schema.cel import type_check
from lading.servers.kube.schema.nodes import Schema
from lading.servers.kube.schema.rule_tree import Rule

_REASONS = (Reason.DUPLICATE, Reason.FORBIDDEN, Reason.INVALID, Reason.REQUIRED)


def problems(schema: Schema, field: str) -> Iterator[Cause]:
    """Everything wrong with the rules of one version's schema."""
    yield from _node(rule_tree.resource(schema), field, uncorrelated="")


def _node(schema: Schema, field: str, *, uncorrelated: str) -> Iterator[Cause]:
    """`uncorrelated` is the list above that has items without an identity over time."""
    seen = rule_tree.resource(schema) if nodes.is_embedded_resource(schema) else schema
    rules = schema.get("x-kubernetes-validations") or ()
    types = type_check.environment(seen) if rules else None
    for index, source in enumerate(rules):
        place = f"{field}.x-kubernetes-validations[{index}]"
        yield from _rule(source, seen, place, uncorrelated)
        yield from _types(source, seen, place, types)
    for key, below in nodes.properties(schema).items():
        yield from _node(below, f"{field}.properties[{key}]", uncorrelated=uncorrelated)
    if isinstance(schema.get("items"), dict):
        is_list_map = nodes.list_type(schema) == "map"
        above = uncorrelated or ("" if is_list_map else field)
        yield from _node(schema["items"], f"{field}.items", uncorrelated=above)
    values = nodes.values(schema)
    if values:
        yield from _node(values, f"{field}.additionalProperties", uncorrelated=uncorrelated)


def _rule(source: dict[str, Any], schema: Schema, field: str, uncorrelated: str) -> Iterator[Cause]:
    text, message = str(source.get("rule", "")), str(source.get("message", ""))
    if not text.strip():
        yield causes.required(f"{field}.rule", "rule is not specified")
        return
    if "\n" in message.strip():
        yield causes.invalid(f"{field}.message", message, "must not contain line breaks")
    reason = source.get("reason")
    if reason is not None and reason not in _REASONS:
        yield causes.not_supported(f"{field}.reason", reason, _REASONS)
    rule = rule_tree.rule(source, schema)
    yield from _compilation(rule, source, field)
    if rule.uses_old and uncorrelated and not rule.old_is_optional:
        detail = (
            f"oldSelf cannot be used on the uncorrelatable portion of the schema within "
            f"{uncorrelated}"
        )
        yield causes.invalid(f"{field}.rule", text, detail)
    if rule.old_is_optional and not rule.uses_old:
        detail = "may not be set if oldSelf is not used in rule"
        yield causes.invalid(f"{field}.optionalOldSelf", True, detail)
    if source.get("fieldPath") and not _names_a_field(schema, rule.field_path):
        detail = "must be a valid path"
        yield causes.invalid(f"{field}.fieldPath", source["fieldPath"], detail)


def _types(source: dict[str, Any], schema: Schema, field: str, types: Any) -> Iterator[Cause]:
    """A rule that compiles may still name a field that is not there, or mix types."""
    if not str(source.get("rule", "")).strip() or rule_tree.rule(source, schema).problem:
        return
    detail = type_check.problem(rule_tree.expression_of(source), types)
    if detail:
        yield causes.invalid(f"{field}.rule", _as_shown(source), detail)


def _compilation(rule: Rule, source: dict[str, Any], field: str) -> Iterator[Cause]:
    if rule.problem:
        yield causes.invalid(f"{field}.rule", _as_shown(source), rule.problem)
    if rule.message_problem:
        detail = f"messageExpression {rule.message_problem.removeprefix('cel expression ')}"
        yield causes.invalid(f"{field}.messageExpression", _as_shown(source), detail)


def _as_shown(source: dict[str, Any]) -> causes.Struct:
    """The rule as the API server prints it: under its internal field names."""
    return causes.Struct(
        Rule=source.get("rule", ""),
        Message=source.get("message", ""),
        MessageExpression=source.get("messageExpression", ""),
        Reason=source.get("reason"),
        FieldPath=source.get("fieldPath", ""),
        OptionalOldSelf=source.get("optionalOldSelf"),
    )


def _names_a_field(schema: Schema, path: str) -> bool:
    node: Schema | None = schema
    for step in path.split("."):
        node = nodes.child(node, step) if node is not None else None
    return node is not None
