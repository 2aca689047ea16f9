"""Stops or kills a program of a sandbox and starts it again, as it was."""

import contextlib
import pathlib
from collections.abc import Iterator

from tests.real.bed import processes, sandbox


def restart(place: sandbox.Sandbox, process_id: int) -> None:
    """With the same arguments and the same environment; what it left on disk is there."""
    (process,) = (each for each in place.started if each.pid == process_id)
    with _started_again(place, process):
        process.stop()


@contextlib.contextmanager
def killed(place: sandbox.Sandbox, name: str) -> Iterator[None]:
    """Killed at once, and down while the block runs. It need not be ready afterwards."""
    (process,) = (each for each in place.started if each.name == name)
    with _started_again(place, process):
        process.kill()
        yield


@contextlib.contextmanager
def _started_again(place: sandbox.Sandbox, process: processes.Process) -> Iterator[None]:
    arguments, environment = (
        pathlib.Path(f"/proc/{process.pid}/{name}").read_text().rstrip("\0").split("\0")
        for name in ("cmdline", "environ")
    )
    yield
    place.started.remove(process)
    variables = dict(variable.split("=", 1) for variable in environment)
    place.start(process.name, arguments, umask=None, **variables)
