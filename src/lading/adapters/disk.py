"""The `Disk` port: this machine's filesystems, and a share of one that a node may fill."""

import asyncio
import os
from pathlib import Path

from lading.ports.cri import Cri
from lading.ports.node import Space


class MachineDisk:
    """Paths are the host's; `root` is where the host is mounted."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    async def space(self, path: str) -> Space | None:
        try:
            found = await asyncio.to_thread(os.statvfs, self._root / path.lstrip("/"))
        except OSError:
            return None
        return Space(
            capacity_bytes=found.f_blocks * found.f_frsize,
            available_bytes=found.f_bavail * found.f_frsize,
        )


class LimitedDisk:
    """As large as the runtime's own limit, and as full as the runtime says."""

    def __init__(self, runtime: Cri, *, capacity_bytes: int) -> None:
        self._runtime = runtime
        self._capacity_bytes = capacity_bytes

    async def space(self, path: str) -> Space | None:
        filesystems = await self._runtime.filesystems()
        used_bytes = next(
            (fs.used_bytes for fs in filesystems.images if fs.mountpoint == path), None
        )
        if used_bytes is None:
            return None
        return Space(
            capacity_bytes=self._capacity_bytes,
            available_bytes=max(0, self._capacity_bytes - used_bytes),
        )
