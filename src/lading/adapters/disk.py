"""The `Disk` port on this machine."""

import asyncio
import os

from lading.ports.disk import Space


class MachineDisk:
    async def space(self, path: str) -> Space | None:
        try:
            found = await asyncio.to_thread(os.statvfs, path)
        except OSError:
            return None
        return Space(
            capacity_bytes=found.f_blocks * found.f_frsize,
            available_bytes=found.f_bavail * found.f_frsize,
        )
