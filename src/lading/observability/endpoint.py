"""/metrics, /healthz and /readyz of a long-running command, on their own port.

Healthy means: the event loop answers. Ready means: nothing is left that the command waits for,
which usually are caches that are not complete yet. A command may add pages of JSON about what it
does at the moment. Nothing here changes anything.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import prometheus_client
from aiohttp import web
from prometheus_client import CollectorRegistry, exposition

SHUTDOWN_SECONDS_MAX = 1.0  # a scrape that is still being answered

Pages = Mapping[str, Callable[[], Any]]
"""Path -> what is shown there as JSON, asked anew for every request."""
NO_PAGES: Pages = {}


@asynccontextmanager
async def serve(
    *,
    host: str,
    port: int,
    registry: CollectorRegistry,
    waiting_for: Callable[[], tuple[str, ...]],
    pages: Pages = NO_PAGES,
) -> AsyncIterator[str]:
    """Serves while the block runs and yields the URL; port 0 takes any that is free."""
    runner = web.AppRunner(
        application(registry, waiting_for, pages),
        access_log=None,
        shutdown_timeout=SHUTDOWN_SECONDS_MAX,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound_port = runner.addresses[0][1]
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound_port}"
    finally:
        await runner.cleanup()


def application(
    registry: CollectorRegistry, waiting_for: Callable[[], tuple[str, ...]], pages: Pages
) -> web.Application:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=prometheus_client.generate_latest(registry),
            headers={"Content-Type": exposition.CONTENT_TYPE_LATEST},
        )

    async def healthy(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        missing = waiting_for()
        if missing:
            return web.Response(status=503, text=f"waiting for {', '.join(missing)}\n")
        return web.Response(text="ok\n")

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/healthz", healthy)
    app.router.add_get("/readyz", ready)
    for path, content in pages.items():
        app.router.add_get(path, _json_page(content))
    return app


def _json_page(content: Callable[[], Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def page(_: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(content()), content_type="application/json")

    return page
