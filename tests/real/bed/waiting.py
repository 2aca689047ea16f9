"""Waiting for a fact in a test that is not asynchronous; tests/e2e/waiting.py is for the others."""

import time
from collections.abc import Callable

POLL_SECONDS = 0.2
SECONDS_MAX = 90.0


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, f"not within {SECONDS_MAX:g} s: {what}"
        time.sleep(POLL_SECONDS)
