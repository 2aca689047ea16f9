"""The process that holds a lock, as the lock names it."""

import os
import secrets
import socket
from pathlib import Path
from typing import Annotated, Self

import msgspec

from lading.kernel.errors import UNREADABLE

_TEXT_MAX = 255
_PID_MAX = 2**31 - 1


class Holder(msgspec.Struct, frozen=True):
    token: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-z]{1,64}\Z")]
    """It is part of the name of another object."""
    host: Annotated[str, msgspec.Meta(max_length=_TEXT_MAX, pattern=r"\A[^\x00-\x1f\x7f]*\Z")]
    """It is shown on one line of an error message."""
    pid: Annotated[int, msgspec.Meta(ge=0, le=_PID_MAX)]
    processes: Annotated[str, msgspec.Meta(max_length=_TEXT_MAX)] = ""
    """The process namespace, because machines and containers may share a name; "" if unknown."""

    @classmethod
    def own(cls) -> Self:
        return cls(secrets.token_hex(8), socket.gethostname(), os.getpid(), _visible_processes())

    def has_ended(self) -> bool:
        """Whether the process is visible from here and has ended."""
        is_visible = bool(self.processes) and self.processes == _visible_processes()
        return is_visible and not _is_running(self.pid)


def decoded(content: bytes) -> Holder:
    """An unreadable lock has no owner: only its age decides."""
    try:
        return msgspec.json.decode(content, type=Holder)
    except UNREADABLE:
        return Holder("", "", 0)


def _visible_processes() -> str:
    """The boot id of this machine, and the namespace of its process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
