"""The limits of the harness hold, and end with the input."""

import ast
import resource
import signal
from pathlib import Path

import pytest

from tests.fuzz import harness

TARGETS = [
    file
    for file in sorted(Path(__file__).parent.glob("test_*.py"))
    if "@given" in file.read_text(encoding="utf-8") and file.name != Path(__file__).name
]


class Refused(Exception):
    pass


def refuse() -> None:
    raise Refused


def loop() -> None:
    while True:
        pass


def test_a_result_and_a_refusal_pass() -> None:
    harness.check(lambda: 1, refusals=())
    harness.check(refuse, refusals=(Refused,))


def test_any_other_error_fails() -> None:
    with pytest.raises(ZeroDivisionError):
        harness.check(lambda: 1 / 0, refusals=(Refused,))


def test_an_input_that_never_ends_fails() -> None:
    with pytest.raises(harness.TooSlow):
        harness.check(loop, refusals=(Exception,), cpu_seconds_max=0.05)


def test_an_input_that_needs_too_much_memory_fails() -> None:
    with pytest.raises(MemoryError):
        harness.check(lambda: bytearray(2 * harness.MEMORY_BYTES_MAX), refusals=(Refused,))


def test_the_limits_end_with_the_input() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGPROF)
    harness.check(refuse, refusals=(Refused,))
    assert (resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGPROF)) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.parametrize("file", TARGETS, ids=lambda file: file.stem)
def test_every_target_has_the_limits(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    for name, function in functions.items():
        if name.startswith("test_") and function.decorator_list and function.args.args:
            assert _reaches_limits(function, functions), f"{name} has no limits"


def _reaches_limits(function: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> bool:
    """Itself, or by a function of its module."""
    if "harness.check(" in ast.unparse(function):
        return True
    called = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
    others = {name: one for name, one in functions.items() if name != function.name}
    return any(_reaches_limits(one, others) for name, one in others.items() if name in called)
