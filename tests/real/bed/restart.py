"""Stops a program of a sandbox and starts it again, as it was."""

import pathlib

from tests.real.bed import sandbox


def restart(place: sandbox.Sandbox, process_id: int) -> None:
    """With the same arguments and the same environment; what it left on disk is there."""
    (process,) = (each for each in place.started if each.pid == process_id)
    arguments, environment = (
        pathlib.Path(f"/proc/{process_id}/{name}").read_text().rstrip("\0").split("\0")
        for name in ("cmdline", "environ")
    )
    process.stop()
    place.started.remove(process)
    variables = dict(variable.split("=", 1) for variable in environment)
    place.start(process.name, arguments, **variables)
