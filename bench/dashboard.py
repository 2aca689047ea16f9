"""The dashboard with 1,000 nodes and 50 sets in a real browser: its promises.

Seconds from the data to the first picture, main-thread time of an update, seconds from a write to
the changed cell with one page and with twenty, memory of the server, and the longest turn of its
event loop.
"""

import asyncio
import importlib.util
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.real.setup.errors import CannotRunHere

NODES = 1000
SETS = 50
CHANGES = 10
WRITES = 10
PAGES = 20
FIRST_PAINT_SECONDS_MAX = 1.0
UPDATE_SECONDS_MAX = 0.1
LIVE_SECONDS_MAX = 2.0
SERVER_MB_MAX = 150.0
TURN_MILLISECONDS_MAX = 50.0


def run() -> dict[str, float]:
    if importlib.util.find_spec("playwright") is None:
        raise CannotRunHere(
            "the packages of requirements/web.txt are missing; run `make web` first"
        )
    from tests.browser.chromium import PROGRAM

    if not PROGRAM.exists():
        raise CannotRunHere(f"{PROGRAM} is missing; run `make web` first")
    return asyncio.run(_measured())


async def _measured() -> dict[str, float]:
    from tests.browser import chromium

    async with _server() as server, chromium.launched() as browser:
        assert server.stdout is not None
        url = (await server.stdout.readline()).decode().strip()
        async with chromium.opened(browser, url, bypass_csp=True) as one:
            await one.show("pins")
            await one.page.wait_for_function(
                f"document.querySelector('#matrix')?.getAttribute('aria-rowcount') > {NODES}"
            )
            await one.page.add_init_script(_WATCH_FIRST_PAINT)
            await one.page.reload()
            await one.page.wait_for_function("window.paintedAt && window.dataAt")
            first = await one.page.evaluate("(window.paintedAt - window.dataAt) / 1000")
            update = await _update_seconds(one.page, server)
            live = await _live_seconds([one.page], server)
            server_mb = _resident_mb(server.pid)
            cookies = await one.page.context.storage_state()
            async with _more_pages(browser, url, PAGES - 1, cookies) as more:
                many = await _live_seconds([one.page, *more], server)
                many_mb = _resident_mb(server.pid)
            _, turn = await _write(server, 1)
    return {
        "first_paint_seconds": first,
        "first_paint_share_of_limit": first / FIRST_PAINT_SECONDS_MAX,
        "update_main_thread_seconds": update,
        "update_share_of_limit": update / UPDATE_SECONDS_MAX,
        "live_update_seconds": live,
        "live_update_share_of_limit": live / LIVE_SECONDS_MAX,
        f"live_update_{PAGES}_pages_seconds": many,
        f"live_update_{PAGES}_pages_share_of_limit": many / LIVE_SECONDS_MAX,
        "server_mb": server_mb,
        "server_share_of_limit": server_mb / SERVER_MB_MAX,
        f"server_{PAGES}_pages_mb": many_mb,
        f"server_{PAGES}_pages_share_of_limit": many_mb / SERVER_MB_MAX,
        "longest_turn_milliseconds": turn,
        "turn_share_of_limit": turn / TURN_MILLISECONDS_MAX,
    }


_WATCH_FIRST_PAINT = """
new PerformanceObserver((list) => {
  for (const one of list.getEntriesByName("take", "mark")) window.dataAt ??= one.startTime;
}).observe({type: "mark"});
new MutationObserver((_, observer) => {
  if (!document.querySelector("#matrix th.node")) return;
  observer.disconnect();
  const painted = () => { window.paintedAt = performance.now(); };
  requestAnimationFrame(() => requestAnimationFrame(painted));
}).observe(document, {childList: true, subtree: true});
"""
"""From the first event, before it is parsed, to the frame after the one that shows the matrix."""


async def _update_seconds(page: Any, server: asyncio.subprocess.Process) -> float:
    """All that the main thread does for one change: parse, draw, style and layout.

    By the wall clock, which also counts what other processes take from a busy machine.
    """
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable")
    before = await _task_seconds(session)
    await _write(server, CHANGES)
    return (await _task_seconds(session) - before) / CHANGES


_WATCH_CELL = """() => {
  window.changedAt = 0;
  const changed = () => { window.changedAt = (performance.timeOrigin + performance.now()) / 1000; };
  new MutationObserver(changed).observe(
    document.querySelector('[data-at="1,1"]'), {attributes: true, attributeFilter: ["title"]});
}"""
"""When the first cell of the first node has changed, in seconds since 1970."""


async def _live_seconds(pages: list[Any], server: asyncio.subprocess.Process) -> float:
    """From a write to the changed cell: the slowest of the pages in the slowest of the writes."""
    for page in pages:
        await page.evaluate(_WATCH_CELL)
    slowest = 0.0
    for _ in range(WRITES):
        written, _ = await _write(server, 1)
        for page in pages:
            await page.wait_for_function("(written) => window.changedAt >= written", arg=written)
            slowest = max(slowest, await page.evaluate("window.changedAt") - written)
    return slowest


@asynccontextmanager
async def _more_pages(browser: Any, url: str, count: int, cookies: Any) -> AsyncIterator[list[Any]]:
    """Each in a profile of its own, because a browser has few connections to one server."""
    from tests.browser import chromium

    async with AsyncExitStack() as stack:
        pages = []
        for _ in range(count):
            one = await stack.enter_async_context(
                chromium.opened(browser, url, storage_state=cookies)
            )
            await one.show("pins")
            await one.page.wait_for_selector("#matrix th.node")
            pages.append(one.page)
        yield pages


async def _write(server: asyncio.subprocess.Process, count: int) -> tuple[float, float]:
    """When the last was made, and the longest turn of the server so far, in milliseconds."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{count}\n".encode())
    await server.stdin.drain()
    written, turn = (await server.stdout.readline()).split()
    return float(written), float(turn)


async def _task_seconds(session: Any) -> float:
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


@asynccontextmanager
async def _server() -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.dashboard_server", str(NODES), str(SETS),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
