"""One running program of a sandbox: its process id, its log, waiting for it, stopping it.

A program is stopped by its own process id, never by name. What it leaves behind (shims,
containers) ends with its sandbox.
"""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable

POLL_SECONDS = 0.05
READY_SECONDS_MAX = 90.0
STOP_SECONDS_MAX = 30.0
LOG_TAIL_LINES = 40


class NotReady(Exception):
    """A program ended, or stayed silent too long, while it was waited for."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    name: str
    pid: int
    """The program itself, in the numbers of the host."""
    wrapper: "subprocess.Popen[bytes]"
    """Our child, which brought the program into the sandbox and waits for its end."""
    log: pathlib.Path

    def wait_until(self, is_ready: Callable[[], bool], *, what: str) -> None:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not is_ready():
            if self.wrapper.poll() is not None:
                raise NotReady(f"{self.name} ended before {what}.\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise NotReady(
                    f"{self.name}: {what} did not happen within {READY_SECONDS_MAX:.0f} s.\n"
                    f"{self.log_tail()}"
                )
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        if self.wrapper.poll() is None:
            # The program is not reaped before its wrapper ends, so the number is still its own.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        try:
            self.wrapper.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """It gets no chance to save or remove anything."""
        os.kill(self.pid, signal.SIGKILL)
        self.wrapper.wait(STOP_SECONDS_MAX)

    def log_tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"--- end of {self.log.name} ---", *lines])


def child_of(parent: int) -> int:
    """The only child of a wrapper, which forks as soon as it is in the sandbox."""
    deadline = time.monotonic() + READY_SECONDS_MAX
    children = pathlib.Path(f"/proc/{parent}/task/{parent}/children")
    while not (numbers := children.read_text().split()):
        if time.monotonic() > deadline:
            raise NotReady(f"process {parent} started nothing within {READY_SECONDS_MAX:.0f} s")
        time.sleep(POLL_SECONDS)
    return int(numbers[0])
