"""What the image commands open on this machine: a runtime, a clock, a disk, the state file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.disk import MachineDisk
from lading.adapters.state_file import LocalStateFile
from lading.ports.clock import Clock
from lading.ports.cri import Cri
from lading.ports.disk import Disk
from lading.runtime_images.state import ImageStateFile


def clock() -> Clock:
    return SystemClock()


def disk() -> Disk:
    return MachineDisk()


def image_state(path: Path) -> ImageStateFile:
    return ImageStateFile(LocalStateFile(path))


@asynccontextmanager
async def open_cri(endpoint: str, *, image_endpoint: str) -> AsyncIterator[Cri]:
    """A runtime, and the service that manages its images where that is another one."""
    # gRPC is slow to import, and a command that only prints its help does not need it.
    from lading.adapters.cri import client
    from lading.adapters.cri.split import SplitRuntime
    from lading.wire import calls

    async with calls.channel_to(endpoint) as channel:
        runtime = client.CriClient(channel)
        if image_endpoint == endpoint:
            yield runtime
            return
        async with calls.channel_to(image_endpoint) as image_channel:
            yield SplitRuntime(runtime=runtime, image_service=client.CriClient(image_channel))
