"""Runs the registry on a port until its context ends."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from lading.kernel.host_guard import HostGuard
from lading.servers.registry import app
from lading.servers.registry.access import AccessGuard
from lading.servers.registry.core import DEFAULT_LIMITS, RegistryCore
from lading.servers.registry.usage import StoreLimits

SHUTDOWN_SECONDS_MAX = 2.0


@asynccontextmanager
async def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    guard: AccessGuard | None = None,
    tls: ssl.SSLContext | None = None,
    names: Sequence[str] = (),
    limits: StoreLimits = DEFAULT_LIMITS,
) -> AsyncIterator[str]:
    """Gives the URL it listens on; port 0 takes a free one. The data in `root` stays.

    `names` are those by which clients reach it, besides `host`, addresses and loopback names.
    """
    core = RegistryCore.on(root, limits)
    await asyncio.to_thread(core.uploads.purge, datetime.now(UTC))
    await asyncio.to_thread(core.usage.measure)
    runner = web.AppRunner(
        app.make_app(core, guard, HostGuard.of((host, *names))),
        access_log=None,
        shutdown_timeout=SHUTDOWN_SECONDS_MAX,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, ssl_context=tls)
        await site.start()
        bound_port = runner.addresses[0][1]
        shown_host = f"[{host}]" if ":" in host else host
        yield f"{'https' if tls else 'http'}://{shown_host}:{bound_port}"
    finally:
        await runner.cleanup()
