"""The machine that this process runs on, as a node: runtime, registries, disk and kubelet."""

import platform
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from lading.adapters.disk import MachineDisk
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kubelet import FixedLimits, LoopbackKubelet
from lading.adapters.kubelet_identity import KubeletTrust
from lading.adapters.state_directory import LocalStateDirectory
from lading.kernel.platforms import Platform, normalised
from lading.ports.clock import Clock
from lading.ports.kubelet import KUBELET_PORT, Kubelet, KubeletLimits
from lading.ports.node import NodeParts
from lading.wiring import runtime_handlers
from lading.wiring.registries import AUTH_FILES_ONLY, CredentialSettings, open_registries
from lading.wiring.runtimes import open_runtime


class Host(msgspec.Struct, frozen=True, kw_only=True):
    runtime_endpoint: str
    state_dir: Path
    root: Path = Path("/")
    """Where the host is mounted: in a DaemonSet a folder, on the host itself `/`."""
    kubelet_port: int = KUBELET_PORT
    kubelet_ca_file: Path | None = None
    """Who signs the kubelet's certificate; None: the authority of the cluster."""
    node_name: str = ""
    credentials: CredentialSettings = AUTH_FILES_ONLY


@asynccontextmanager
async def open_host(
    host: Host, clock: Clock, *, connection: Connection | None = None
) -> AsyncIterator[NodeParts]:
    """The kubelet is asked for its limits as the user of the connection to the API server.

    Without a connection there is no kubelet to ask: its defaults keep the disk from filling.
    """
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(
            open_runtime(host.runtime_endpoint, clock, host_root=host.root)
        )
        registries = await stack.enter_async_context(
            open_registries(clock, host_root=host.root, settings=host.credentials)
        )
        kubelet: Kubelet = FixedLimits(KubeletLimits())
        if connection is not None:
            kubelet = LoopbackKubelet(
                await stack.enter_async_context(aiohttp.ClientSession()),
                clock,
                port=host.kubelet_port,
                credentials=Credentials(connection.user, clock),
                trust=_kubelet_trust(host, connection),
            )
        yield NodeParts(
            runtime=runtime,
            registry=registries.client,
            credentials=registries.credentials,
            disk=MachineDisk(host.root),
            kubelet=kubelet,
            platform_of=_platform_of(host.root),
            state=LocalStateDirectory(host.state_dir),
        )


def _kubelet_trust(host: Host, connection: Connection) -> KubeletTrust:
    file = host.kubelet_ca_file
    authority = file.read_text(encoding="utf-8") if file else connection.trust.authority_pem
    return KubeletTrust(node_name=host.node_name, authority_pem=authority)


def machine_platform() -> Platform:
    return normalised(Platform(os=platform.system().lower(), architecture=platform.machine()))


def _platform_of(root: Path) -> Callable[[str], Platform]:
    own = machine_platform()
    known = runtime_handlers.guest_platforms(runtime_handlers.files_of(root))
    return lambda handler: known.get(handler, own)
