"""The expressions of one policy, evaluated for one request.

Composed variables are evaluated only when an expression names them; one that fails is an error
of the expression that reaches it, not of the others.
"""

import re
from typing import Any

import msgspec

from lading.embedded.kube.schema import cel
from lading.embedded.kube.schema.cel import CelError, DoesNotCompile, DoesNotEvaluate
from lading.embedded.kube.schema.nodes import Document

_NAMES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
_VARIABLES = tuple((name, "dyn") for name in _NAMES)
_COMPOSED = re.compile(r"\bvariables\s*\.\s*\??\s*([A-Za-z_]\w*)")
_NO_AUTHORIZER = "authorizer is not available: this server does not enforce authorization"


def compiled(expression: str) -> cel.Program:
    """The program of a policy's expression; raises DoesNotCompile."""
    if cel.uses(expression, "authorizer"):
        raise DoesNotCompile(_NO_AUTHORIZER)
    return cel.compiled(expression, _VARIABLES)


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The names that a policy's expressions may use, for one request and one parameter."""

    names: Document
    variables: dict[str, str]
    """Expressions by name, in the order of the policy: each may use those before it."""

    def evaluate(self, expression: str) -> Any:
        """The value; raises a CelError that names the expression."""
        try:
            return self._evaluate(expression)
        except DoesNotCompile as error:
            raise DoesNotCompile(f"compilation error: {error.message}") from error
        except DoesNotEvaluate as error:
            text = f"expression '{expression}' resulted in error: {error.message}"
            raise DoesNotEvaluate(text) from error

    def _evaluate(self, expression: str) -> Any:
        composed: Document = {}
        failed: dict[str, str] = {}
        for name in self._needed(expression):
            try:
                data = {**self.names, "variables": dict(composed)}
                composed[name] = compiled(self.variables[name]).evaluate(data)
            except CelError as error:
                failed[name] = error.message
        try:
            return compiled(expression).evaluate({**self.names, "variables": composed})
        except DoesNotEvaluate as error:
            name = error.message.removeprefix("no such key: ")
            if name in failed:
                text = f'composited variable "{name}" fails to evaluate: {failed[name]}'
                raise DoesNotEvaluate(text) from error
            raise

    def _needed(self, expression: str) -> list[str]:
        """The composed variables that the expression uses, with those they use, in order."""
        needed = set(_COMPOSED.findall(expression))
        for name in reversed(self.variables):
            if name in needed:
                needed.update(_COMPOSED.findall(self.variables[name]))
        return [name for name in self.variables if name in needed]
