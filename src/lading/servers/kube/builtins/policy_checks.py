"""What admission policies and their bindings must keep: rules that select, expressions that run."""

import re
from collections.abc import Iterator

from lading.servers.kube.admission import expressions
from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.cel.errors import DoesNotCompile
from lading.servers.kube.schema.nodes import Document

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_KNOWN_REASONS = (*_REASONS, "Unauthorized")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DENY_AND_WARN = (
    "must not contain both Deny and Warn (repeating the same validation failure information in "
    "the API response and headers serves no purpose)"
)


def policy(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    constraints = spec.get("matchConstraints") or {}
    rules = constraints.get("resourceRules") or ()
    if not rules:
        field = "spec.matchConstraints"
        yield causes.required(f"{field}.resourceRules" if constraints else field)
    for index, rule in enumerate(rules):
        yield from _rule(rule, f"spec.matchConstraints.resourceRules[{index}]")
    for index, condition in enumerate(spec.get("matchConditions") or ()):
        field = f"spec.matchConditions[{index}]"
        if not condition.get("name"):
            yield causes.required(f"{field}.name")
        yield from _expression(condition.get("expression", ""), f"{field}.expression", "bool")
    for index, variable in enumerate(spec.get("variables") or ()):
        yield from _variable(variable, f"spec.variables[{index}]")
    yield from _validations(spec)


def _rule(rule: Document, field: str) -> Iterator[Cause]:
    for key in ("operations", "apiGroups", "apiVersions", "resources"):
        if not rule.get(key):
            yield causes.required(f"{field}.{key}")


def _variable(variable: Document, field: str) -> Iterator[Cause]:
    name = variable.get("name", "")
    if not name:
        yield causes.required(f"{field}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name):
        yield causes.invalid(f"{field}.name", name, "must be a valid CEL identifier")
    yield from _expression(variable.get("expression", ""), f"{field}.expression", "")


def _validations(spec: Document) -> Iterator[Cause]:
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        detail = "validations or auditAnnotations must contain at least one item"
        yield causes.required("spec.validations", detail)
        yield causes.required("spec.auditAnnotations", detail)
    for index, validation in enumerate(spec.get("validations") or ()):
        field = f"spec.validations[{index}]"
        yield from _expression(validation.get("expression", ""), f"{field}.expression", "bool")
        message = validation.get("messageExpression")
        if message:
            yield from _expression(message, f"{field}.messageExpression", "string")
        reason = validation.get("reason")
        if reason and reason not in _KNOWN_REASONS:
            yield causes.not_supported(f"{field}.reason", reason, _REASONS)


def _expression(text: str, field: str, wanted: str) -> Iterator[Cause]:
    if not text.strip():
        yield causes.required(field, "expression is not specified")
        return
    try:
        found = expressions.compiled(text).return_type
    except DoesNotCompile as error:
        yield causes.invalid(field, text, error.message)
        return
    if wanted and found != wanted:
        yield causes.invalid(field, text, f"must evaluate to {wanted} but got {found}")


def binding(document: Document, old: Document | None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    if not spec.get("policyName"):
        yield causes.required("spec.policyName")
    reference = spec.get("paramRef")
    if reference is not None:
        if not reference.get("name") and reference.get("selector") is None:
            yield causes.required("spec.paramRef", "one of name or selector must be specified")
        if not reference.get("parameterNotFoundAction"):
            yield causes.required("spec.paramRef.parameterNotFoundAction")
    yield from _actions(spec.get("validationActions") or [])


def _actions(actions: list[str]) -> Iterator[Cause]:
    field = "spec.validationActions"
    if not actions:
        yield causes.required(field, "at least one validation action is required")
    if "Deny" in actions and "Warn" in actions:
        yield causes.invalid(field, actions, _DENY_AND_WARN)
