"""A sandbox: one folder, one process namespace and one mount namespace for some components.

Whatever runs in it, containers and their shims included, ends when its first process ends, and
the kernel ends that one when the test run ends, however it ends. Mounts made inside end with it.
Addresses, cgroups and files are on the host; leftovers.py removes those, now or in a later run.

The thread that opens a sandbox must live as long as the sandbox: its end counts as the run's end.
"""

import contextlib
import dataclasses
import fcntl
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from tests.real.bed import filesystems, layout, leftovers, processes
from tests.real.setup import errors

INIT = pathlib.Path(__file__).parent / "sandbox_init.py"
DISK_BYTES = 16 << 30
"""Of a sandbox, so that what an agent finds free does not depend on the disk of this machine."""

OPEN: list["Sandbox"] = []
"""The sandboxes of this test run, so that a failing test can show their logs."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    folder: pathlib.Path
    init_pid: int
    started: list[processes.Process]

    def start(
        self,
        name: str,
        command: Sequence[str | os.PathLike[str]],
        *,
        umask: int | None = None,
        **variables: str,
    ) -> processes.Process:
        """Run a program in the sandbox, with its output in FOLDER/NAME.log."""
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            wrapper = subprocess.Popen(
                [*self._entering, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | variables | {layout.MARK: str(self.folder)},
                umask=-1 if umask is None else umask,
            )
        process = processes.Process(
            name=name, pid=processes.child_of(wrapper.pid), wrapper=wrapper, log=log
        )
        self.started.append(process)
        return process

    def run(self, *command: str | os.PathLike[str]) -> str:
        """What a program printed that ends by itself; an error with its message when it failed."""
        answer = subprocess.run(
            [*self._entering, *command], capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, f"{command}: {answer.stderr}"
        return answer.stdout

    @property
    def _entering(self) -> tuple[str, ...]:
        return ("nsenter", f"--target={self.init_pid}", "--mount", "--pid", "--")

    @property
    def host_root(self) -> pathlib.Path:
        return layout.host_root(self.folder)

    def make_host_folder(self, path: pathlib.Path) -> pathlib.Path:
        """A folder by its path in the sandbox; returns the one by which we reach it."""
        outside = self.host_root / path.relative_to("/")
        outside.mkdir(parents=True, exist_ok=True)
        return outside

    def make_root(self, path: pathlib.Path, elsewhere: pathlib.Path | None) -> pathlib.Path:
        """The folder where a runtime has its images; elsewhere may be a small disk."""
        if elsewhere is None:
            return self.make_host_folder(path)
        elsewhere.mkdir(exist_ok=True)
        # A link, unlike a mount, leads the same way for those who look from outside.
        (self.make_host_folder(path.parent) / path.name).symlink_to(elsewhere)
        return elsewhere

    def make_folder(self, name: str) -> pathlib.Path:
        path = self.folder / name
        path.mkdir(parents=True)
        return path


@contextlib.contextmanager
def sandbox() -> Iterator[Sandbox]:
    """An empty sandbox; at its end nothing of it is left."""
    if os.geteuid() != 0:
        raise errors.CannotRunHere(
            "The real components need root (namespaces, mounts). Run the tests with sudo."
        )
    _remove_leftovers_once()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=layout.FOLDER_PREFIX))
    # A lock, not a process id: the kernel frees it when the run ends, and no other can take it.
    with _held_lock(folder):
        try:
            disk = folder / layout.DISK_NAME
            filesystems.mount_new(disk, layout.host_root(folder), size_bytes=DISK_BYTES)
            # No process is asked to end: all that it could save goes with the folder.
            with _reaped() as started, _namespaces(folder) as init_pid:
                opened = Sandbox(folder=folder, init_pid=init_pid, started=started)
                OPEN.append(opened)
                try:
                    yield opened
                finally:
                    OPEN.remove(opened)
        finally:
            leftovers.remove(folder)


@contextlib.contextmanager
def _held_lock(folder: pathlib.Path) -> Iterator[None]:
    """It gets its name when it is held: another run that cleans up never finds it free."""
    unnamed = folder / f"{layout.LOCK_NAME}.new"
    with unnamed.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        unnamed.rename(folder / layout.LOCK_NAME)
        yield


@functools.cache
def _remove_leftovers_once() -> None:
    leftovers.remove_dead()


@contextlib.contextmanager
def _reaped() -> Iterator[list[processes.Process]]:
    """The programs of a sandbox, which end when its namespaces do."""
    started: list[processes.Process] = []
    try:
        yield started
    finally:
        for process in started:
            process.wrapper.wait(processes.STOP_SECONDS_MAX)


@contextlib.contextmanager
def _namespaces(folder: pathlib.Path) -> Iterator[int]:
    """The first process of new namespaces; when it is killed, the kernel kills all others."""
    log = folder / "init.log"
    with (
        log.open("wb") as errors_of_init,
        subprocess.Popen(
            [
                *("setpriv", "--pdeathsig=KILL"),
                *("unshare", "--mount", "--propagation=slave", "--pid", "--mount-proc"),
                *("--fork", "--kill-child=KILL", "--", sys.executable, INIT),
                layout.host_root(folder),
            ],
            stdout=subprocess.PIPE,
            stderr=errors_of_init,
            env=os.environ | {layout.MARK: str(folder)},
        ) as wrapper,
    ):
        assert wrapper.stdout
        if not wrapper.stdout.readline():
            raise errors.CannotRunHere(
                f"This machine does not allow new namespaces, even for root: {log.read_text()}"
                "Run the tests outside a restricted container."
            )
        init_pid = processes.child_of(wrapper.pid)
        try:
            yield init_pid
        finally:
            os.kill(init_pid, signal.SIGKILL)
            wrapper.wait(processes.STOP_SECONDS_MAX)
