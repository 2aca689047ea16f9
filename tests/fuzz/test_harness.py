"""The limits of the harness hold, and end with the input."""

import resource
import signal

import pytest

from tests.fuzz import harness


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
