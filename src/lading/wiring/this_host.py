"""The machine that this process runs on, as a node."""

import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.disk import MachineDisk
from lading.adapters.kubelet import FixedLimits
from lading.kernel.platforms import Platform, normalised
from lading.ports.clock import Clock
from lading.ports.kubelet import KubeletLimits
from lading.wiring.agent import NodeParts
from lading.wiring.registries import open_registries
from lading.wiring.runtimes import open_runtime


def machine_platform() -> Platform:
    return normalised(Platform(os=platform.system().lower(), architecture=platform.machine()))


@asynccontextmanager
async def open_parts(
    endpoint: str, clock: Clock, *, state_folder: Path, host_root: Path = Path("/")
) -> AsyncIterator[NodeParts]:
    """A host without a kubelet that could be asked: its defaults keep the disk from filling."""
    machine = machine_platform()
    async with (
        open_runtime(endpoint, clock, state_folder=state_folder, host_root=host_root) as runtime,
        open_registries(clock, host_root=host_root) as registries,
    ):
        yield NodeParts(
            runtime=runtime,
            registry=registries.client,
            credentials=registries.credentials,
            disk=MachineDisk(),
            kubelet=FixedLimits(KubeletLimits()),
            platform_of=lambda handler: machine,
            state_folder=state_folder,
        )
