"""Tells CRI-O to read its configuration again, with the signal that systemd would send too.

The process that listens on its socket is CRI-O; no unit and no program is named.
"""

import os
import signal
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from lading.ports.cri import Unavailable

Reload: TypeAlias = Callable[[], Awaitable[None]]

_PEER = struct.Struct("3i")  # of SO_PEERCRED: process, user, group


def by_signal(endpoint: str) -> Reload:
    """SIGHUP to whichever process listens on the socket at the time, whatever its name is."""

    async def reload() -> None:
        _send(_listener(endpoint.removeprefix("unix://")))

    return reload


def _listener(path: str) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError as error:
            raise Unavailable(f"cannot connect to {path}: {error.strerror}") from error
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    process_id: int = _PEER.unpack(peer)[0]
    if process_id == 0:
        raise Unavailable(
            f"the process that listens on {path} cannot be seen; "
            "the agent must share the host's process namespace (hostPID)"
        )
    return process_id


def _send(process_id: int) -> None:
    try:
        os.kill(process_id, signal.SIGHUP)
    except ProcessLookupError as error:
        raise Unavailable(f"CRI-O's process {process_id} is gone; it cannot be reloaded") from error
