"""The node that this process runs on: its runtime, registries, disk and kubelet, as one value.

`root` is where the host is mounted; in a DaemonSet that is a folder, on the host itself `/`.
"""

import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from lading.adapters.disk import MachineDisk
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kubelet import LoopbackKubelet
from lading.kernel import platforms
from lading.kernel.platforms import Platform, guests
from lading.ports.clock import Clock
from lading.wiring.agent import NodeParts
from lading.wiring.registries import open_registries
from lading.wiring.runtimes import open_runtime

# The runtime's own configuration last, because it wins.
GUEST_FILES = (Path("etc/lading/guest-platforms.toml"), Path("etc/containerd/config.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    runtime_endpoint: str
    state_folder: Path
    kubelet_port: int
    root: Path = Path("/")


@asynccontextmanager
async def open_host(host: Host, connection: Connection, clock: Clock) -> AsyncIterator[NodeParts]:
    """The kubelet is asked with the credentials of the connection to the API server."""
    async with (
        open_runtime(
            host.runtime_endpoint, clock, state_folder=host.state_folder, host_root=host.root
        ) as runtime,
        open_registries(clock, host_root=host.root) as registries,
        aiohttp.ClientSession() as session,
    ):
        yield NodeParts(
            runtime=runtime,
            registry=registries.client,
            credentials=registries.credentials,
            disk=MachineDisk(host.root),
            kubelet=LoopbackKubelet(
                session,
                clock,
                port=host.kubelet_port,
                credentials=Credentials(connection.user, clock),
            ),
            platform_of=_platform_of(host.root),
            state_folder=host.state_folder,
        )


def _platform_of(root: Path) -> Callable[[str], Platform]:
    own = platforms.parse(f"linux/{platform.machine()}")
    known: dict[str, Platform] = {}
    for file in GUEST_FILES:
        if (root / file).exists():
            known |= guests.parse((root / file).read_text(encoding="utf-8"))
    return lambda handler: known.get(handler, own)
