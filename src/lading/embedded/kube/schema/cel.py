"""Compiles and evaluates CEL expressions; programs are cached by text and variable types.

The functions are those of CEL and its standard extensions. The Kubernetes libraries (quantity, IP
address, URL, semver, list functions) are missing: no rule or policy of Lading uses them.

The library returns evaluation errors as values that are truthy. They are always raised here, so
that no rule passes because it failed.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional, ext_strings

PROGRAMS_MAX = 4096
ENVIRONMENTS_MAX = 256
EXPRESSION_CHARACTERS_MAX = 100_000
Variables = tuple[tuple[str, str], ...]
"""Names with their CEL types, such as `("self", "dyn")`."""

_TEXT_LITERAL = re.compile(
    r"(?:[rR]?)(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")", re.DOTALL
)
_SYNTAX_OF = re.compile(r"^\w+: ERROR: <input>:(\d+):(\d+): (.*)$", re.DOTALL)
_STATUS = re.compile(r"^[A-Z_]+: ")
_MISSING_KEY = re.compile(r'Key not found in map : "(.*)"$', re.DOTALL)
_INDEX = re.compile(r"Index error: index=(-?\d+)")


class CelError(Exception):
    """An expression is wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class DoesNotCompile(CelError):
    """A syntax or type error, found without an object."""


class DoesNotEvaluate(CelError):
    """An error while the expression ran on an object."""


class Program(msgspec.Struct, frozen=True):
    """A compiled expression; `return_type` is what the type checker found."""

    expression: Any
    return_type: str

    def evaluate(self, data: Mapping[str, Any]) -> Any:
        """The value in plain Python; raises DoesNotEvaluate for an error value."""
        try:
            result = self.expression.eval(data=data)
            if result.type() == cel.Type.ERROR:
                raise DoesNotEvaluate(_in_go_words(str(result.value())))
            return result.plain_value()
        except (TypeError, RuntimeError, RecursionError) as error:
            raise DoesNotEvaluate(str(error)) from error


@functools.lru_cache(maxsize=PROGRAMS_MAX)
def compiled(expression: str, variables: Variables) -> Program:
    """The program of an expression; raises DoesNotCompile with the position of the error."""
    if len(expression) > EXPRESSION_CHARACTERS_MAX:
        raise DoesNotCompile(
            f"the expression is longer than {EXPRESSION_CHARACTERS_MAX} characters"
        )
    try:
        program = _environment(variables).compile(expression)
    except RuntimeError as error:
        raise DoesNotCompile(_compile_message(str(error))) from error
    return Program(program, program.return_type().name().lower())


@functools.lru_cache(maxsize=ENVIRONMENTS_MAX)
def _environment(variables: Variables) -> Any:
    return cel.NewEnv(
        variables={name: _type(text) for name, text in variables},
        extensions=[
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_math.ExtMath(),
            ext_encoders.ExtEncoders(),
        ],
    )


def _type(text: str) -> Any:
    """A CEL type from its spelling: `int`, `list(string)`, `map(dyn)` (keys are strings)."""
    name, _, inner = text.partition("(")
    match name:
        case "list":
            return cel.Type.List(_type(inner[:-1]))
        case "map":
            return cel.Type.Map(cel.Type.STRING, _type(inner[:-1]))
        case _:
            return getattr(cel.Type, name.upper())


def uses(expression: str, variable: str) -> bool:
    """Whether an expression uses a variable; string literals do not count."""
    bare = _TEXT_LITERAL.sub("''", expression)
    return re.search(rf"(?<![\w.]){variable}\b", bare) is not None


def _compile_message(text: str) -> str:
    """The error of the library in the form of kube-apiserver: the position first."""
    match = _SYNTAX_OF.match(text.removesuffix(" [INVALID_ARGUMENT]"))
    if match is None:
        return f"compilation failed: {text}"
    line, column, rest = match.groups()
    return f"compilation failed: ERROR: <input>:{line}:{column}: {rest}"


def _in_go_words(text: str) -> str:
    """The error messages of cel-go instead of those of this library."""
    bare = _STATUS.sub("", text)
    if match := _MISSING_KEY.search(bare):
        return f"no such key: {match[1]}"
    if match := _INDEX.search(bare):
        return f"index out of bounds: {match[1]}"
    if bare.startswith("No matching overloads found"):
        return "no such overload"
    return {"divide by zero": "division by zero"}.get(bare, bare)
