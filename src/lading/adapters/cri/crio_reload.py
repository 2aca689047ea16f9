"""Tells CRI-O to read its configuration again: by signal, or through systemd."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from lading.ports.cri import Unavailable

Reload: TypeAlias = Callable[[], Awaitable[None]]

SYSTEMCTL_TIMEOUT_SECONDS = 30.0
PROCESS_NAME = "crio"


def by_signal(process_id: int | None = None) -> Reload:
    """SIGHUP to that process, or to the one that is called crio at the time."""

    async def reload() -> None:
        target = process_id or _process_named(PROCESS_NAME)
        try:
            os.kill(target, signal.SIGHUP)
        except ProcessLookupError as error:
            raise Unavailable(f"CRI-O's process {target} is gone; it cannot be reloaded") from error

    return reload


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


def _process_named(name: str) -> int:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            command = (entry / "comm").read_text().strip()
        except OSError:
            continue  # it ended meanwhile
        if command == name:
            return int(entry.name)
    raise Unavailable(
        f"no process called {name} is visible; Lading must share the host's process namespace"
    )
