"""For every test: hypothesis draws the same inputs in each run, and a busy machine is no failure.

`make fuzz` draws new inputs from a seed that it prints. Temporary folders are in memory where there
is enough of it. A command that a test runs in its own process configures the logs; the next test
finds them as they were.
"""

import logging
import os
import tempfile
from collections.abc import Iterator

import hypothesis
import pytest
import structlog

FUZZ_EXAMPLES = 1_000  # the ordinary number is 100

MEMORY = "/dev/shm"
MEMORY_BYTES_MIN = 8 << 30
"""Much more than all tests write."""


def _use_memory() -> None:
    """Servers wait until what they wrote is on the disk; a busy disk would multiply that time."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    found = os.statvfs(MEMORY)
    is_large = found.f_bavail * found.f_frsize >= MEMORY_BYTES_MIN
    if is_large and not found.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = MEMORY
        tempfile.tempdir = None  # found anew, should it be known already


_use_memory()
hypothesis.settings.register_profile(
    "fuzz",
    parent=hypothesis.settings.get_profile("ci"),
    derandomize=False,
    max_examples=FUZZ_EXAMPLES,
)
hypothesis.settings.load_profile("ci")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of whole clusters wait more than they work, so one that came last would be waited for.

    pytest-xdist gives each worker a part of the list: of four, the first and the third begin with
    such tests while the others compute.
    """
    clusters = [item for item in items if "e2e" in item.path.parts]
    others = [item for item in items if "e2e" not in item.path.parts]
    half, middle = len(clusters) // 2, len(others) // 2
    items[:] = [*clusters[:half], *others[:middle], *clusters[half:], *others[middle:]]


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are whole, also where the shell of the tests tells its width."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
