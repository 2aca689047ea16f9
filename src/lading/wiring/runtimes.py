"""A container runtime on this machine, with the pin driver that belongs to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.cri import crio_reload
from lading.adapters.cri.client import CriClient
from lading.adapters.cri.crio_config import CrioConfig
from lading.adapters.cri.pins_containerd import ContainerdPins
from lading.adapters.cri.pins_crio import CrioPins
from lading.ports.clock import Clock
from lading.ports.cri import Pins
from lading.ports.node import NodeRuntime
from lading.wire import calls

CRIO = "cri-o"
CRIO_MAIN_FILE = Path("etc/crio/crio.conf")
CRIO_DROP_IN_FOLDER = Path("etc/crio/crio.conf.d")


@asynccontextmanager
async def open_runtime(
    endpoint: str, clock: Clock, *, host_root: Path = Path("/")
) -> AsyncIterator[NodeRuntime]:
    """Asks the runtime who it is, to know how it pins; `host_root` is where the host is mounted."""
    async with calls.channel_to(endpoint) as channel:
        runtime = CriClient(channel)
        version = await runtime.version()
        pins: Pins = ContainerdPins(channel, runtime, clock)
        if version.name == CRIO:
            pins = CrioPins(
                runtime,
                config=CrioConfig(
                    main_file=host_root / CRIO_MAIN_FILE,
                    drop_in_folder=host_root / CRIO_DROP_IN_FOLDER,
                ),
                reload=crio_reload.by_signal(endpoint),
                clock=clock,
            )
        yield NodeRuntime(cri=runtime, pins=pins)
