"""The embedded servers and the nodes made of them, each open for the time of a block."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from lading.adapters.disk import LimitedDisk
from lading.adapters.kubelet import FixedLimits
from lading.adapters.state_directory import LocalStateDirectory
from lading.kernel.platforms import Platform
from lading.ports.clock import Clock
from lading.ports.cri import Container
from lading.ports.http import Exchange
from lading.ports.kubelet import KubeletLimits
from lading.ports.node import NodeParts
from lading.servers.cri import server as cri_server
from lading.servers.cri.core import EmbeddedRuntime
from lading.servers.kube import builtins, certificates, http
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.node_proxy import Kubelets
from lading.servers.kube.storage import sqlite
from lading.servers.kube.storage.memory import MemoryStorage
from lading.servers.registry import server as registry_server
from lading.servers.registry.access import Passwords
from lading.servers.registry.usage import StoreLimits
from lading.wiring.registries import Registries
from lading.wiring.runtimes import open_runtime


class ServedApi(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    authority: Path
    """The certificate that clients must trust."""
    exchange: Exchange
    """The same server for a client in this process."""


@asynccontextmanager
async def open_api(
    data: Path, clock: Clock, *, admin_token: str, port: int, kubelets: Kubelets
) -> AsyncIterator[ServedApi]:
    """An API server on its data folder, over HTTPS."""
    pki = certificates.ensure(data / "pki")
    with contextlib.closing(sqlite.open(data / "api.sqlite")) as storage:
        core = Core(storage, clock, tokens={admin_token: ADMIN}, kubelets=kubelets)
        try:
            async with http.serve(core, port=port, tls=pki) as url:
                yield ServedApi(url=url, authority=pki.authority, exchange=core)
        finally:
            await core.close()


@asynccontextmanager
async def open_api_in_memory(clock: Clock, *, admin_token: str) -> AsyncIterator[Exchange]:
    core = Core(MemoryStorage(), clock, tokens={admin_token: ADMIN})
    try:
        yield core
    finally:
        await core.close()


def kubernetes_version() -> str:
    """That of the embedded API server, as `kubectl version` shows it."""
    return builtins.kubernetes_version()


@asynccontextmanager
async def open_registry(
    root: Path,
    *,
    port: int,
    names: Sequence[str],
    limits: StoreLimits,
    password_by_user: Mapping[str, str],
) -> AsyncIterator[str]:
    """Gives the URL; without a password every client may do everything."""
    async with registry_server.serve(
        root,
        port=port,
        guard=Passwords(password_by_user) if password_by_user else None,
        names=names,
        limits=limits,
    ) as url:
        yield url


class EmbeddedHost(msgspec.Struct, frozen=True, kw_only=True):
    endpoint: str
    """The socket of its container runtime."""
    parts: NodeParts
    declare_containers: Callable[[Iterable[Container]], None]
    """Says which containers there are; the runtime runs none itself."""


@asynccontextmanager
async def open_host(
    folder: Path,
    clock: Clock,
    *,
    registries: Registries,
    platform: Platform,
    guests: Mapping[str, Platform | None],
    capacity_bytes: int,
) -> AsyncIterator[EmbeddedHost]:
    """A node with a container runtime of its own."""
    runtime = EmbeddedRuntime(
        root=folder / "images",
        registry=registries.client,
        clock=clock,
        platform=platform,
        guests=guests,
        capacity_bytes=capacity_bytes,
    )
    async with (
        cri_server.serve(runtime, folder / "runtime.sock") as endpoint,
        open_runtime(endpoint, clock) as opened,
    ):
        parts = NodeParts(
            runtime=opened,
            registry=registries.client,
            credentials=registries.credentials,
            disk=LimitedDisk(opened.cri, capacity_bytes=capacity_bytes),
            kubelet=FixedLimits(KubeletLimits()),
            platform_of=_platform_of(platform, guests),
            state=LocalStateDirectory(folder),
        )
        yield EmbeddedHost(
            endpoint=endpoint, parts=parts, declare_containers=runtime.declare_containers
        )


def _platform_of(own: Platform, guests: Mapping[str, Platform | None]) -> Callable[[str], Platform]:
    return lambda handler: guests.get(handler) or own
