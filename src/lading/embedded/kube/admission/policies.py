"""Decides a request by ValidatingAdmissionPolicies and their bindings; a pure function.

The binding says whether a failed validation denies, warns or is audited. An expression that cannot
be evaluated denies, unless the failurePolicy of its policy is Ignore.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lading.embedded.kube.admission import matching
from lading.embedded.kube.admission.expressions import Evaluation
from lading.embedded.kube.admission.matching import Attributes, Misconfigured, ParameterLookup
from lading.embedded.kube.schema.cel import CelError
from lading.embedded.kube.schema.nodes import Document

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
MESSAGE_BYTES_MAX = 5 * 1024  # the API server's limit for messageExpression


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """The text after `... is forbidden: ` and the reason."""

    message: str
    reason: str

    @property
    def code(self) -> int:
        return _CODES.get(self.reason, 422)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The first denial, if any; warnings are sent to the client in any case."""

    denial: Denial | None
    warnings: tuple[str, ...]


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    reason: str = "Invalid"


def decide(
    policies: Iterable[Document],
    bindings: Iterable[Document],
    lookup: ParameterLookup,
    attributes: Attributes,
) -> Decision:
    """Evaluates every policy that matches and is bound; order is by name."""
    denials: list[Denial] = []
    warnings: list[str] = []
    by_policy = sorted(bindings, key=_name)
    for policy in sorted(policies, key=_name):
        bound = [each for each in by_policy if each["spec"].get("policyName") == _name(policy)]
        for binding, failure in _failures(policy, bound, lookup, attributes):
            actions = binding["spec"].get("validationActions") or ["Deny"] if binding else ["Deny"]
            title = _title(policy, binding)
            if "Warn" in actions:
                warnings.append(f"Validation failed for {title}: {failure.message}")
            if "Deny" in actions:
                message = f"{title} denied request: {failure.message}"
                denials.append(Denial(message=message, reason=failure.reason))
    return Decision(denial=denials[0] if denials else None, warnings=tuple(warnings))


def _failures(
    policy: Document, bindings: list[Document], lookup: ParameterLookup, attributes: Attributes
) -> Iterator[tuple[Document | None, _Failure]]:
    spec = policy["spec"]
    ignores = spec.get("failurePolicy", "Fail") == "Ignore"
    try:
        if not bindings or not matching.matches(spec.get("matchConstraints"), attributes):
            return
    except Misconfigured as error:
        if not ignores:
            yield None, _Failure(message=f"failed to configure policy: {error.message}")
        return
    for binding in bindings:
        try:
            if matching.matches(binding["spec"].get("matchResources"), attributes):
                for found in matching.parameters(
                    spec, binding["spec"], lookup, attributes.namespace
                ):
                    evaluation = _evaluation(spec, attributes, found)
                    yield from ((binding, each) for each in _validate(spec, evaluation, ignores))
        except Misconfigured as error:
            if not ignores:
                at_fault = binding if error.where == "binding" else None
                text = f"failed to configure {error.where}: {error.message}"
                yield at_fault, _Failure(message=text)


def _evaluation(spec: Document, attributes: Attributes, found: Document | None) -> Evaluation:
    return Evaluation(
        names={
            "object": attributes.object,
            "oldObject": attributes.old_object,
            "request": attributes.request(),
            "params": found,
            "namespaceObject": attributes.namespace_object,
        },
        variables={each["name"]: each["expression"] for each in spec.get("variables") or ()},
    )


def _validate(spec: Document, evaluation: Evaluation, ignores: bool) -> Iterator[_Failure]:
    try:
        if not _conditions_hold(spec.get("matchConditions") or (), evaluation):
            return
    except CelError as error:
        if not ignores:
            yield _Failure(message=error.message)
        return
    for validation in spec.get("validations") or ():
        try:
            holds = evaluation.evaluate(validation["expression"]) is True
        except CelError as error:
            if not ignores:
                yield _Failure(message=error.message)
            continue
        if not holds:
            message = _message(validation, evaluation)
            yield _Failure(message=message, reason=validation.get("reason") or "Invalid")


def _conditions_hold(conditions: Iterable[Document], evaluation: Evaluation) -> bool:
    """A false condition decides; else an error of any condition is raised."""
    errors: list[CelError] = []
    for condition in conditions:
        try:
            if evaluation.evaluate(condition["expression"]) is not True:
                return False
        except CelError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return True


def _message(validation: Document, evaluation: Evaluation) -> str:
    text: Any = ""
    if validation.get("messageExpression"):
        try:
            text = evaluation.evaluate(validation["messageExpression"])
        except CelError:
            text = ""
    line = text.strip() if isinstance(text, str) else ""
    if line and "\n" not in line and len(line.encode()) <= MESSAGE_BYTES_MAX:
        return line
    return (validation.get("message") or "").strip() or (
        f"failed expression: {validation['expression'].strip()}"
    )


def _title(policy: Document, binding: Document | None) -> str:
    title = f"ValidatingAdmissionPolicy '{_name(policy)}'"
    return f"{title} with binding '{_name(binding)}'" if binding else title


def _name(document: Document) -> str:
    return str(document["metadata"]["name"])
