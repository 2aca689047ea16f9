"""Debian's chromium with a new, empty profile, and one page of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright, expect

PROGRAM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",  # as root in a container there is none
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS_MAX = 60_000.0
expect.set_options(timeout=WAIT_MS_MAX)  # its own 5 s are too few on a busy machine
SCREENSHOTS = Path(__file__).parents[2] / ".screenshots"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPage:
    page: Page
    url: str
    """Without the token."""
    errors: list[str] = field(default_factory=list)
    """What the console of the browser reported."""
    requests: list[str] = field(default_factory=list)

    async def show(self, view: str) -> None:
        await self.page.goto(f"{self.url}#/{view}")
        await self.page.wait_for_selector("body[data-state=live]")

    async def shot(self, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=SCREENSHOTS / f"{name}.png")


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """Without a folder of its own a browser gets a new, empty one."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def opened(
    browser: Browser, url: str, *, width: int = 1280, height: int = 800, **options: Any
) -> AsyncIterator[OpenPage]:
    """The URL with its token, in a context of its own; errors of the page fail the test."""
    context = await browser.new_context(viewport={"width": width, "height": height}, **options)
    context.set_default_timeout(WAIT_MS_MAX)
    page = await context.new_page()
    one = OpenPage(page=page, url=url.partition("?")[0])
    page.on("console", lambda message: _note(one, message))
    page.on("pageerror", lambda error: one.errors.append(str(error)))
    page.on("request", lambda request: one.requests.append(request.url))
    await page.goto(url)
    await page.wait_for_selector("body[data-state=live]")
    yield one
    assert one.errors == []
    assert [asked for asked in one.requests if not asked.startswith(one.url)] == []
    await context.close()


def _note(one: OpenPage, message: Any) -> None:
    if message.type in ("error", "warning"):
        one.errors.append(message.text)
