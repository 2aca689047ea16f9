"""For every test: hypothesis draws the same inputs in each run, and a busy machine is no failure.

`make fuzz` draws new inputs from a seed that it prints. Temporary folders are in memory where there
is enough of it. A command that a test runs in its own process configures the logs; the next test
finds them as they were.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

EXAMPLES = 50
FUZZ_EXAMPLES = 1_000

_PROCESSORS: list[structlog.typing.Processor] = [
    structlog.processors.add_log_level,
    # The default renders each traceback with rich, which takes a second or more.
    structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
]
structlog.configure(processors=_PROCESSORS)
MEMORY = "/dev/shm"
_FOLDER = pytest.StashKey[str]()
_PREFIX = "lading-"
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
hypothesis.settings.register_profile(
    "test", parent=hypothesis.settings.get_profile("ci"), max_examples=EXAMPLES
)
hypothesis.settings.load_profile("test")


def pytest_configure(config: pytest.Config) -> None:
    """One short folder for the run: the path of a socket has at most 107 characters.

    The folders of pytest itself are numbered, and longer after many runs.
    """
    if not hasattr(config, "workerinput") and config.option.basetemp is None:
        _remove_folders_of_earlier_runs()
        folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
        config.option.basetemp = config.stash[_FOLDER] = folder


def _remove_folders_of_earlier_runs() -> None:
    """What failed tests left stays until the next run."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}[0-9]*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if process.isdecimal() and not Path("/proc", process).exists():
            shutil.rmtree(folder, ignore_errors=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The folders of failed tests stay."""
    folder = session.config.stash.get(_FOLDER, None)
    if folder is not None and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder, ignore_errors=True)


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
    structlog.configure(processors=_PROCESSORS)
