"""What a sandbox has on the host, and how all of it is removed, after a good end or a bad one.

A sandbox is dead when no process holds the lock in its folder; then its processes have ended or are
ending. `remove` also serves the normal end, so that the way back from a crash is always in use.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

from tests.real.bed import addresses, cgroups, layout

END_SECONDS_MAX = 60.0
POLL_SECONDS = 0.05


def remove_dead() -> list[pathlib.Path]:
    """Remove every sandbox of this machine that no process owns any more."""
    return [folder for folder in layout.folders() if _removed_if_dead(folder)]


def remove(folder: pathlib.Path) -> None:
    _end_processes(folder)
    _unmount_below(folder)
    addresses.remove_all(folder)
    cgroups.remove(folder)
    shutil.rmtree(folder)


def _removed_if_dead(folder: pathlib.Path) -> bool:
    with contextlib.suppress(FileNotFoundError), (folder / layout.LOCK_NAME).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        remove(folder)
        return True
    return False


def marked_processes(folder: pathlib.Path) -> Iterator[int]:
    mark = f"{layout.MARK}={folder}".encode()
    for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in environment.read_bytes().split(b"\0"):
                yield int(environment.parent.name)


def _end_processes(folder: pathlib.Path) -> None:
    """Containers bear no mark, but the sandbox's first process does, and it ends after them."""
    deadline = time.monotonic() + END_SECONDS_MAX
    while remaining := [*marked_processes(folder)]:
        assert time.monotonic() < deadline, f"processes {remaining} of {folder} do not end"
        for pid in remaining:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _unmount_below(folder: pathlib.Path) -> None:
    for mount_point in reversed(mounts_below(folder)):
        subprocess.run(["umount", mount_point], check=True)


def mounts_below(folder: pathlib.Path) -> list[str]:
    """Mount points of the host inside the folder, in the order they were mounted."""
    table = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    points = (line.split()[4] for line in table)
    return [point for point in points if pathlib.Path(point).is_relative_to(folder)]
