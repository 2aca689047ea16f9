"""Runs a parser on one input: it returns or refuses, within limits of CPU time and memory.

The limits are per input. CPU time, not elapsed time: a busy machine is no failure.
"""

import contextlib
import pathlib
import resource
import signal
from collections.abc import Callable, Iterator
from types import FrameType

CPU_SECONDS_MAX = 2.0
MEMORY_BYTES_MAX = 256 * 1024 * 1024
"""How much the process may grow while it works on the input."""
_PAGE_BYTES = resource.getpagesize()
_STATM = pathlib.Path("/proc/self/statm")


class TooSlow(BaseException):
    """One input took more CPU time than allowed; no `except Exception` may hide it."""


def check(
    parse: Callable[[], object],
    *,
    refusals: tuple[type[Exception], ...],
    cpu_seconds_max: float = CPU_SECONDS_MAX,
    memory_bytes_max: int = MEMORY_BYTES_MAX,
) -> None:
    """Every other exception, TooSlow and MemoryError included, fails the test."""
    with _cpu_limit(cpu_seconds_max), _memory_limit(memory_bytes_max):
        try:
            parse()
        except refusals:
            return


@contextlib.contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"the input took more than {seconds} s of CPU time")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


@contextlib.contextmanager
def _memory_limit(growth_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    used_bytes = int(_STATM.read_text().split()[0]) * _PAGE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (used_bytes + growth_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
