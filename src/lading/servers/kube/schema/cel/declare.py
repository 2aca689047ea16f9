"""How the Kubernetes functions are declared to the CEL library, in a few letters per function.

Types the library cannot declare (quantity, URL, IP address) are maps with one key that names
the type, so that equality works and a wrong argument is an error.
"""

from collections.abc import Callable
from typing import Any

from cel_expr_python import cel

_TYPES = {
    "s": cel.Type.STRING,
    "i": cel.Type.INT,
    "b": cel.Type.BOOL,
    "f": cel.Type.DOUBLE,
    "d": cel.Type.DYN,
    "l": cel.Type.List(cel.Type.DYN),
    "L": cel.Type.List(cel.Type.STRING),
}


Declare = Callable[[str], Any]
"""Makes the overload once the function's name is known."""


def method(signature: str, implementation: Callable[..., Any]) -> Declare:
    """`"ds>b"`: called on a dyn with a string, gives a boolean; the receiver comes first."""
    return _overload(signature, implementation, is_member=True)


def function(signature: str, implementation: Callable[..., Any]) -> Declare:
    return _overload(signature, implementation, is_member=False)


def named(name: str, *overloads: Declare) -> Any:
    return cel.FunctionDecl(name, [overload(name) for overload in overloads])


def _overload(signature: str, implementation: Callable[..., Any], *, is_member: bool) -> Declare:
    parameters, result = signature.split(">")

    def declare(name: str) -> Any:
        kind = "method" if is_member else "function"
        return cel.Overload(
            f"kubernetes_{name.replace('.', '_')}_{kind}_{parameters}",
            _TYPES[result],
            [_TYPES[letter] for letter in parameters],
            is_member,
            implementation,
        )

    return declare


def tagged(tag: str, value: Any) -> Any:
    """The inside of a value of an undeclarable type; anything else is a type error."""
    if isinstance(value, dict) and value.keys() == {tag}:
        return value[tag]
    raise ValueError(f"no such overload: expected a value made by {tag}()")
