"""How the page is used: times, colours, live figures of an open cell, and what it says when it
cannot follow."""

import re
from collections.abc import Iterable

from playwright.async_api import Browser, expect

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.kernel.values import replace
from lading.pinned_images.rows import Row
from lading.ports import kube
from lading.web.following import FOLLOWED
from tests.browser import chromium, served
from tests.web import clusters
from tests.web.broken_kube import BrokenKube

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


async def one_set(api: KubeClient) -> str:
    """A node that pins a set; returns the uid of the set."""
    await clusters.create_pool(api, "s")
    uid = await clusters.create_set(api, "s")
    await clusters.create_node(api, "node-a")
    await clusters.report(api, "node-a", clusters.pinned("s", uid))
    return uid


async def test_times_are_relative_with_the_absolute_one_on_hover(
    api: KubeClient, browser: Browser
) -> None:
    await one_set(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        await one.show("pins?cell=node-a/s")
        since = one.page.locator("#panel time").first
        await expect(since).to_have_attribute("datetime", "2026-01-01T00:00:00Z")
        await expect(since).to_have_attribute("title", "Jan 1, 2026, 12:00:00 AM UTC")
        await expect(since).to_contain_text("ago")


async def test_the_colours_follow_the_system(api: KubeClient, browser: Browser) -> None:
    found = set()
    async with served.dashboard(api) as url:
        async with chromium.opened(browser, url, color_scheme="light") as one:
            found.add(await one.page.evaluate(BACKGROUND))
            cookies = await one.page.context.storage_state()
        async with chromium.opened(browser, url, color_scheme="dark", storage_state=cookies) as one:
            found.add(await one.page.evaluate(BACKGROUND))
    assert len(found) == 2


class PullingAgents:
    """Each answer has more bytes than the one before."""

    def __init__(self) -> None:
        self.asked = 0

    async def rows(self, found: Iterable[Row]) -> list[Row]:
        self.asked += 1
        return [
            replace(
                row,
                is_live=True,
                detail="no room; attempt 2 at 2126-01-01T00:00:00Z",
                bytes_done=self.asked << 20,
                bytes_total=100 << 20,
                bytes_per_second=5 << 20,
                ends_at="2126-01-01T00:00:00Z",
                next_pull_time="2126-01-01T00:00:00Z",
                attempt=2,
            )
            for row in found
        ]

    async def collection(self, node: str) -> None:
        return None


async def test_an_open_cell_follows_the_agent_of_its_node(
    api: KubeClient, browser: Browser
) -> None:
    uid = await one_set(api)
    entry = clusters.failed("s", uid, "no room.")
    patch = {"status": {"pinnedImageSets": [entry]}}
    await api.patch(MACHINE_CONFIG_NODES, "node-a", patch, subresource="status")
    async with (
        served.dashboard(api, agents=PullingAgents()) as url,
        chromium.opened(browser, url) as one,
    ):
        await one.show("pins?cell=node-a/s")
        facts = one.page.locator("#panel .facts")
        await expect(facts).to_contain_text("5 MiB/s")
        await expect(facts).to_contain_text("none pinned, 1 wanted")
        await expect(one.page.locator("#panel").get_by_text("no room")).to_have_count(1)
        await expect(facts).to_contain_text("Estimated endin 99 years")
        await expect(facts).to_contain_text("Next tryin 99 years, attempt 2")
        await expect(facts).to_contain_text(re.compile(r"Downloaded([2-9]|\d\d) MiB of 100 MiB"))
        await expect(one.page.locator("#panel")).to_contain_text("from the agent of the node, now")


async def test_an_api_server_that_is_away_is_said_and_the_last_state_stays(
    api: KubeClient, browser: Browser
) -> None:
    await one_set(api)
    broken = BrokenKube(api)
    async with served.dashboard(broken) as url, chromium.opened(browser, url) as one:
        await one.show("pins")
        cell = one.page.locator('[aria-label^="s on node-a"]')
        await expect(cell).to_contain_text("Pinned")
        broken.errors = {resource: kube.Unavailable("away") for resource in FOLLOWED}
        broken.broken.set()
        await clusters.create_node(api, "node-b")  # an event, after which the watch breaks
        banner = one.page.locator("#banner")
        await expect(banner).to_contain_text("The API server does not answer; retrying.")
        await expect(cell).to_contain_text("Pinned")
        broken.broken.clear()
        broken.errors.clear()
        await expect(banner).to_be_empty()
        await expect(one.page.get_by_role("rowheader", name="node-b")).to_be_visible()
