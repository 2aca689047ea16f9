"""For every test: hypothesis draws the same inputs in each run, and a busy machine is no failure.

`make fuzz` draws new inputs from a seed that it prints. A command that a test runs in its own
process configures the logs; the next test finds them as they were.
"""

import logging
from collections.abc import Iterator

import hypothesis
import pytest
import structlog

FUZZ_EXAMPLES = 1_000  # the ordinary number is 100

hypothesis.settings.register_profile(
    "fuzz",
    parent=hypothesis.settings.get_profile("ci"),
    derandomize=False,
    max_examples=FUZZ_EXAMPLES,
)
hypothesis.settings.load_profile("ci")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
