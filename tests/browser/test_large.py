"""The page with 1,000 nodes and 50 sets; `python -m bench dashboard` has the timings."""

from playwright.async_api import Browser, expect

from bench.dashboard_objects import LargeCluster, node_name
from tests.browser import chromium, served

NODES = 1000
SETS = 50
ROWS_IN_THE_PAGE_MAX = 100


async def test_the_matrix_of_a_large_cluster_is_read_filtered_and_followed(
    browser: Browser,
) -> None:
    cluster = LargeCluster(nodes=NODES, sets=SETS)
    async with served.dashboard(cluster) as url, chromium.opened(browser, url) as one:
        page = one.page
        await one.show("pins")
        matrix = page.locator("#matrix")
        await expect(matrix).to_have_attribute("aria-rowcount", str(NODES + 3))  # two pools
        await expect(matrix.locator("thead th")).to_have_count(SETS + 1)
        assert await matrix.locator("tr").count() < ROWS_IN_THE_PAGE_MAX
        await expect(page.locator("tr.group").first).to_contain_text("100 nodes")
        await expect(page.locator(".legend")).to_contain_text("49,990 pinned")
        await one.shot("large-1280")

        await one.show("overview")
        problem = page.locator(".problem")
        await expect(problem).to_have_count(1)
        await expect(problem).to_contain_text("release-03 is not pinned on node-0007")
        await expect(problem).to_contain_text("and 7 more nodes")
        await one.shot("large-overview-1280")

        await one.show("pins")
        cluster.change(0, present=5)
        cell = page.locator(f'[aria-label="release-00 on {node_name(0)}: Pulling 5/20"]')
        await expect(cell).to_be_visible()

        await page.locator(".scroll.long").evaluate("(element) => element.scrollTo(0, 1e9)")
        await expect(page.get_by_role("rowheader", name=node_name(NODES - 1))).to_be_visible()
        assert await matrix.locator("tr").count() < ROWS_IN_THE_PAGE_MAX

        await page.get_by_role("button", name="10 failed").click()
        await expect(page.locator("th.node")).to_have_count(10)
        await one.shot("large-failed-1280")
        await expect(matrix.locator("thead th")).to_have_count(2)
        await page.get_by_role("combobox", name="State").select_option("")
        await page.get_by_label("Search nodes and sets").fill("release-49")
        await expect(matrix.locator("thead th")).to_have_count(2)


async def test_a_cluster_without_the_other_kinds_says_so(browser: Browser) -> None:
    cluster = LargeCluster(nodes=10, sets=2)
    async with served.dashboard(cluster) as url, chromium.opened(browser, url) as one:
        card = one.page.locator(".card", has_text="Pre-pull")
        await expect(card).to_contain_text(
            "This cluster does not serve Image (longhorn.io/v1beta2)."
        )
        await expect(card.locator("code")).to_contain_text("lading crds")
