"""Images per node in the browser: by runtime class, with what garbage collection would take."""

from collections.abc import Iterable

import pytest
from playwright.async_api import Browser, expect

from lading.adapters.kube.client import KubeClient
from lading.api.core import RUNTIME_CLASSES
from lading.pinned_images.rows import Row
from lading.runtime_images.gc_types import GcReason
from lading.runtime_images.report import CollectionReport
from tests.browser import chromium, served
from tests.browser.accessibility import violations
from tests.web import clusters, reports

COPY = clusters.IMAGE.replace("registry", "mirror")  # by the same digest
HOSTILE = '<img src=x onerror="window.hacked=1">'


class Agents:
    """That of node-a answers; that of node-b does not."""

    async def rows(self, found: Iterable[Row]) -> list[Row]:
        return list(found)

    async def collection(self, node: str) -> CollectionReport | None:
        if node != "node-a":
            return None
        return reports.collection(
            reports.verdict("registry.example.com/old:1", goes=True, message="space is needed"),
            reports.verdict(clusters.IMAGE, reason=GcReason.PINNED, message="it is pinned"),
            reports.verdict(COPY, reason=GcReason.TOO_YOUNG, message="it is young"),
            reports.verdict(HOSTILE, handlers=("kata",), reason=GcReason.IN_USE, message=HOSTILE),
        )


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
async def test_a_node_has_the_verdict_of_every_image_by_runtime_class(
    api: KubeClient, browser: Browser, width: int, scheme: str
) -> None:
    await clusters.create_pool(api, "good")
    await clusters.create_set(api, "good")
    await clusters.create_node(api, "node-a")
    await clusters.create(api, RUNTIME_CLASSES, "guests", handler="kata")
    async with (
        served.dashboard(api, agents=Agents()) as url,
        chromium.opened(
            browser, url, width=width, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
        ) as one,
    ):
        await one.show("images")
        await one.page.get_by_role("button", name="node-a").click()
        panel = one.page.locator("#panel")
        await expect(panel).to_contain_text("1 image would be removed now, which frees 1 KiB.")
        await expect(panel).to_contain_text("85 % full")
        await expect(panel.locator(".facts")).to_contain_text("90 %")
        host = panel.get_by_role("region", name="Default runtime").locator("li")
        await expect(host.nth(0)).to_contain_text("removed")
        await expect(host.nth(0)).to_contain_text("MakesRoom: space is needed; frees 1 KiB")
        await expect(host.nth(1)).to_contain_text("kept")
        await expect(host.nth(1)).to_contain_text("Pinned: it is pinned, by good")
        await expect(host.nth(2)).to_contain_text("it is young; in 1 set of this node: good")
        guest = panel.get_by_role("region", name="guests").locator("li")
        await expect(guest).to_contain_text(f"InUse: {HOSTILE}")
        assert await one.page.evaluate("window.hacked") is None
        assert await violations(one.page) == []
        assert await one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await one.shot(f"verdicts-{width}")


async def test_where_the_agent_does_not_answer_the_page_says_so_and_names_the_command(
    api: KubeClient, browser: Browser
) -> None:
    images = [{"names": ["registry.example.com/app:1"], "sizeBytes": 10}]
    await clusters.create_node(api, "node-b", status={"images": images})
    async with (
        served.dashboard(api, agents=Agents()) as url,
        chromium.opened(browser, url) as one,
    ):
        await one.show("images?node=node-b")
        panel = one.page.locator("#panel")
        await expect(panel).to_contain_text("not known here: the agent of the node did not answer")
        await expect(panel.locator("code").first).to_have_text("lading image gc")
        await expect(panel).to_contain_text("registry.example.com/app:1")
        await one.show("images?node=node-c")
        await expect(panel).to_contain_text("There is no Node node-c.")
        one.errors[:] = [text for text in one.errors if "404" not in text]
