"""Tells CRI-O to read its configuration again: by signal, or through systemd."""

import asyncio
import os
import signal
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from lading.ports.cri import Unavailable

Reload: TypeAlias = Callable[[], Awaitable[None]]

SYSTEMCTL_TIMEOUT_SECONDS = 30.0
_PEER = struct.Struct("3i")  # of SO_PEERCRED: process, user, group


def by_signal(process_id: int) -> Reload:
    async def reload() -> None:
        _signal(process_id)

    return reload


def by_signal_to_listener(endpoint: str) -> Reload:
    """SIGHUP to whichever process listens on the socket at the time, whatever its name is."""

    async def reload() -> None:
        _signal(listener(endpoint.removeprefix("unix://")))

    return reload


def listener(path: str) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError as error:
            raise Unavailable(f"nobody listens on {path}: {error.strerror}") from error
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    process_id: int = _PEER.unpack(peer)[0]
    if process_id == 0:
        raise Unavailable(
            f"the process that listens on {path} cannot be seen; "
            "Lading must share the host's process namespace"
        )
    return process_id


def _signal(process_id: int) -> None:
    try:
        os.kill(process_id, signal.SIGHUP)
    except ProcessLookupError as error:
        raise Unavailable(f"CRI-O's process {process_id} is gone; it cannot be reloaded") from error


def by_systemd(unit: str = "crio.service") -> Reload:
    async def reload() -> None:
        process = await asyncio.create_subprocess_exec(
            "systemctl", "reload", unit, stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(SYSTEMCTL_TIMEOUT_SECONDS):
                _, said = await process.communicate()
        except TimeoutError as error:
            process.kill()
            await process.wait()
            message = f"'systemctl reload {unit}' took over {SYSTEMCTL_TIMEOUT_SECONDS:.0f} s"
            raise Unavailable(message) from error
        if process.returncode != 0:
            words = said.decode(errors="replace").strip()
            raise Unavailable(f"'systemctl reload {unit}' failed: {words}")

    return reload
