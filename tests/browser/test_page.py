"""The page with a cluster in memory: what it shows, how it is used, and what it withstands."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.images import ImageKey, Layer
from lading.kernel.values import replace
from lading.pinned_images.node.preview import Preview
from lading.pruning.engine.decisions import plan_file
from lading.pruning.engine.types import Deletion, Header, PrunePlan, Saving, Source, What
from lading.web.details import NotPlanned
from lading.web.views.pins import PlannedSets
from tests.browser import chromium, served
from tests.browser.accessibility import violations
from tests.browser.chromium import WAIT_MS_MAX
from tests.pruning.builders import digest
from tests.web import clusters, plans

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
UPDATE_SECONDS_MAX = 2.0
PASSWORD = "correct-horse-battery"
VIEWS = ("overview", "pins", "plan", "images", "prepull", "boot", "pruning")


async def small_cluster(api: KubeClient, error: str = "there is no room") -> str:
    """Two nodes and two sets, of which one failed; returns the uid of the other."""
    await clusters.create_pool(api, "good", "bad")
    good = await clusters.create_set(api, "good")
    bad = await clusters.create_set(api, "bad")
    for name in ("node-a", "node-b"):
        await clusters.create_node(api, name)
    await clusters.report(api, "node-a", clusters.pinned("good", good))
    await clusters.report(
        api, "node-b", clusters.pinned("good", good), clusters.failed("bad", bad, error), bad=True
    )
    await clusters.create_image(
        api, "share", state="error", nodeCount=2, deployedNodeCount=1, failedNodeCount=1,
        nodeDeploymentMap={"node-a": True, "node-b": False},
        failures=[{"node": "node-b", "reason": "NotFound", "message": error}],
    )  # fmt: skip
    await clusters.create_history(api, "workers", state="Skipped", reason="Paused", message=error)
    await clusters.create_pruner(api, message=error)
    return good


def plan(folder: Path, text: str = "older than 60m") -> Path:
    deletions = tuple(
        Deletion(what=What.TAG, repository="team/app", tag=f"v{number}", because=text,
                 digest=f"sha256:{number:064x}", size_bytes=number << 20)
        for number in range(300)
    )  # fmt: skip
    header = Header(
        registry="registry.example.com",
        source=Source.REGISTRY,
        planned_at=datetime(2026, 1, 1, tzinfo=UTC),
        deletions=300,
        size_bytes=1 << 33,
        by_repository=(Saving("team/app", 300, 1 << 33),),
        by_rule=(Saving(text, 300, 1 << 33),),
    )
    file = folder / "plan.jsonl"
    with file.open("wb") as target:
        target.writelines(plan_file.lines(PrunePlan(header=header, deletions=deletions)))
    return file


async def test_what_is_wrong_comes_first_with_a_command_to_copy(
    api: KubeClient, browser: Browser
) -> None:
    await small_cluster(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        first = one.page.locator(".problem").first
        await expect(first).to_contain_text("bad is not pinned on node-b")
        await expect(first).to_contain_text("there is no room")
        await expect(first.locator("code")).to_have_text("lading pin status bad --node node-b")
        await expect(one.page.locator(".card")).to_have_count(5)
        assert "token" not in one.page.url
        await one.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await first.get_by_role("button", name="Copy").click()
        await expect(first.get_by_role("button")).to_have_text("Copied")
        copied = await one.page.evaluate("navigator.clipboard.readText()")
        assert copied == "lading pin status bad --node node-b"
        await first.get_by_role("link").click()
        panel = one.page.locator("#panel")
        await expect(panel.locator("#panel-title")).to_have_text("Set bad")
        await expect(panel).to_contain_text("2 nodes lack it")
        await expect(panel.get_by_role("link")).to_have_text(["node-a", "node-b"])
        await expect(panel).to_contain_text(clusters.IMAGE)


async def test_each_feature_has_its_details(api: KubeClient, browser: Browser) -> None:
    await small_cluster(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        panel = one.page.locator("#panel")
        await one.show("prepull?image=default/share")
        await expect(panel).to_contain_text("1 of 2 worker nodes hold it")
        nodes = panel.locator("li")
        await expect(nodes).to_contain_text(["NotFound node-b", "held node-a"])
        await one.show("boot?machineSet=default/workers")
        await expect(panel.locator(".facts")).to_contain_text("Paused")
        entries = panel.locator("ol > li")
        await expect(entries).to_contain_text(["new-image", "old-image"])
        preview = entries.nth(1).locator(".command code")
        await expect(preview).to_have_text("lading bootimage restore workers --to 0")
        await one.show("pruning")
        run = one.page.locator(".run")
        await expect(run).to_contain_text("Succeeded")
        await expect(run.locator(".facts")).to_contain_text("Freed4 KiB")
        await expect(run).to_contain_text("Used 7")


async def test_a_change_in_the_cluster_is_on_the_page_within_two_seconds(
    api: KubeClient, browser: Browser
) -> None:
    good = await small_cluster(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        await one.show("pins?cell=node-a/good")
        cell = one.page.locator('[aria-label^="good on node-a"]')
        await expect(cell).to_contain_text("Pinned")
        await cell.evaluate("(element) => { window.kept = element; }")
        entry = {**clusters.pinned("good", good), "currentGeneration": 0, "presentImageCount": 0}
        patch = {"status": {"pinnedImageSets": [entry]}}
        began = time.monotonic()
        await api.patch(MACHINE_CONFIG_NODES, "node-a", patch, subresource="status")
        await expect(cell).to_contain_text("Pulling")
        print(f"shown after {time.monotonic() - began:.2f} s (of {UPDATE_SECONDS_MAX} s)")
        await expect(one.page.locator("#panel .facts")).to_contain_text("0 of 1")
        assert await one.page.evaluate("window.kept.isConnected"), "the cell was made anew"
        await api.delete(PINNED_IMAGE_SETS, "bad")
        await expect(one.page.locator("button.set")).to_have_text(["good"])


async def test_the_matrix_is_used_from_the_keyboard(api: KubeClient, browser: Browser) -> None:
    await small_cluster(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        await one.show("pins")
        page = one.page
        await page.locator("#matrix [tabindex='0']").focus()
        here = page.locator("#matrix :focus")
        for key, place in (("ArrowDown", "1,0"), ("ArrowDown", "2,0"), ("ArrowRight", "2,1")):
            await page.keyboard.press(key)
            await expect(here).to_have_attribute("data-at", place)
        await expect(here).to_have_attribute("aria-label", "bad on node-b: Failed 0/1")
        await page.keyboard.press("Enter")
        await expect(page.locator("#panel-title")).to_be_focused()
        await expect(page.locator("#panel .errors")).to_contain_text("there is no room")
        assert page.url.endswith("#/pins?cell=node-b%2Fbad")
        await page.keyboard.press("Escape")
        await expect(page.locator("#panel")).to_be_hidden()
        await expect(here).to_have_attribute("aria-label", "bad on node-b: Failed 0/1")


async def test_filters_and_order_are_in_the_address(api: KubeClient, browser: Browser) -> None:
    await small_cluster(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        await one.show("pins?state=Failed")
        await expect(one.page.locator("th.node")).to_have_text(["node-b"])
        await one.page.get_by_role("combobox", name="State").select_option("")
        await expect(one.page.locator("th.node")).to_have_count(2)
        await one.page.get_by_label("Search nodes and sets").fill("node-a")
        await expect(one.page.locator("th.node")).to_have_text(["node-a"])
        await one.page.reload()
        await expect(one.page.locator("th.node")).to_have_text(["node-a"])
        await one.show("images?sort=-node")
        names = one.page.locator("tbody button.link")
        await expect(names).to_have_text(["node-b", "node-a"])
        await one.page.get_by_role("button", name="Node", exact=True).click()
        await expect(names).to_have_text(["node-a", "node-b"])


async def test_a_hostile_text_stays_text(api: KubeClient, browser: Browser, tmp_path: Path) -> None:
    await small_cluster(api, error=HOSTILE)
    shown = 0
    async with (
        served.dashboard(api, plan(tmp_path, HOSTILE)) as url,
        chromium.opened(browser, url) as one,
    ):
        for view in (
            *VIEWS, "pins?cell=node-b/bad", "prepull?image=default/share",
            "boot?machineSet=default/workers", "pins?set=%3Cimg%20src%3Dx%3E",
        ):  # fmt: skip
            await one.show(view)
            await expect(one.page.locator("h1")).to_be_visible()
            await expect(one.page.get_by_text("Loading")).to_have_count(0)
            shown += await one.page.get_by_text("<img").count()
            assert await one.page.locator("main img, aside img, main script").count() == 0
        assert await one.page.evaluate("window.hacked") is None
        one.errors[:] = [text for text in one.errors if "404" not in text]  # the set `<img…`
    assert shown >= 4


async def test_no_secret_reaches_the_browser(api: KubeClient, browser: Browser) -> None:
    await small_cluster(api, error=f"GET https://robot:{PASSWORD}@registry.example.com: denied")
    bodies: list[str] = []
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        for view in (*VIEWS, "pins?cell=node-b/bad", "prepull?image=default/share"):
            await one.show(view)
            await expect(one.page.get_by_text("Loading")).to_have_count(0)
            bodies.append(await one.page.content())
        assert any("denied" in text for text in bodies)
        assert not any(PASSWORD in text for text in bodies)
        assert await one.page.evaluate("document.cookie") == ""


async def test_a_wrong_token_is_refused(api: KubeClient, browser: Browser) -> None:
    async with served.dashboard(api) as url:
        page = await browser.new_page()
        for wrong in (f"{url}x", url.partition("?")[0]):
            answer = await page.goto(wrong)
            assert answer is not None
            assert answer.status in (401, 403)
            await expect(page.locator("body")).to_contain_text("Open the URL that")
        await page.close()


async def test_the_url_opens_in_one_browser_and_there_again(
    api: KubeClient, browser: Browser
) -> None:
    await small_cluster(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        await one.page.reload()
        await one.page.wait_for_selector("body[data-state=live]")
        tab = await one.page.context.new_page()
        await tab.goto(url)
        await tab.wait_for_selector("body[data-state=live]")
        another = await browser.new_page()
        answer = await another.goto(url)
        assert answer is not None
        assert answer.status == 403
        await expect(another.locator("body")).to_contain_text("run `lading dashboard`")
        await another.close()


async def test_a_plan_is_walked_and_searched(
    api: KubeClient, browser: Browser, tmp_path: Path
) -> None:
    async with (
        served.dashboard(api, plan(tmp_path)) as url,
        chromium.opened(browser, url) as one,
    ):
        await one.show("pruning")
        await expect(one.page.locator(".pages")).to_contain_text("1 to 200 of 300 deletions")
        await one.page.get_by_role("button", name="Next").click()
        await expect(one.page.locator(".pages")).to_contain_text("201 to 300 of 300")
        await one.page.get_by_label("Search by name").fill(f"{7:064x}")
        await expect(one.page.locator(".pages")).to_contain_text("1 to 1 of 1 deletion")
        await expect(one.page.get_by_text("v7", exact=True)).to_be_visible()


async def test_what_stays_is_walked_from_the_repository_to_the_blob_and_back(
    api: KubeClient, browser: Browser, tmp_path: Path
) -> None:
    async with (
        served.dashboard(api, plans.write_contents(tmp_path / "plan.jsonl")) as url,
        chromium.opened(browser, url) as one,
    ):
        page, panel = one.page, one.page.locator("#panel")
        await one.show("pruning")
        await page.get_by_role("button", name="team/app").first.click()
        await page.get_by_role("button", name="v1", exact=True).click()
        await expect(panel).to_contain_text("tag is used by Pod foo/web")
        heading = panel.locator("h3", has_text="It points to")
        await heading.locator("+ p").get_by_role("link").click()
        await expect(panel).to_contain_text("Why manifest")
        blob = digest("l")
        await page.get_by_label("Why?").fill(blob)
        await page.keyboard.press("Enter")
        await expect(panel).to_contain_text("Why blob")
        await expect(panel.locator(".chain").first).to_contain_text("team/app:v1")
        await page.reload()
        await expect(panel).to_contain_text("Why blob")
        await one.shot("why-1280")
        await panel.get_by_role("link", name="team/app:v1").click()
        await expect(panel).to_contain_text("Why tag team/app:v1")
        await page.get_by_label("Why?").fill("nothing:1")
        await page.keyboard.press("Enter")
        await expect(panel).to_contain_text("nothing:1 is not in the registry of the plan.")
        one.errors[:] = [text for text in one.errors if "404" not in text]


class Planner:
    """Two nodes, of which one refuses; counts the plans."""

    def __init__(self, *files: str) -> None:
        self.files = files
        self.made = 0

    async def of_files(self) -> PlannedSets | None:
        return self._planned(self.files) if self.files else None

    async def of_texts(self, texts: Mapping[str, str]) -> PlannedSets:
        if "kind" not in "".join(texts.values()):
            raise NotPlanned("dropped.yaml:1: the object has no kind")
        return self._planned(tuple(texts))

    def _planned(self, files: tuple[str, ...]) -> PlannedSets:
        self.made += 1
        image, layer = ImageKey(clusters.IMAGE), Layer("sha256:1", 10 << 20)
        fits = Preview(
            node_name="node-a", set_names=("s",), wanted=frozenset({image}), missing=(image,),
            to_pull=(image,), unknown=(), pull_layers=frozenset({layer}), disk_bytes=20 << 20,
            free_bytes=100 << 20, reserve_bytes=0, refusals=(),
        )  # fmt: skip
        refuses = replace(
            fits, node_name="node-b", refusals=(f"needs room {HOSTILE}",),
            unknown=(image,), pull_layers=frozenset(),
        )  # fmt: skip
        complaints = [f"plan {self.made} is refused"]
        return PlannedSets(files=files, previews=[fits, refuses], complaints=complaints)


async def test_a_plan_of_sets_is_shown_and_made_again_on_demand(
    api: KubeClient, browser: Browser
) -> None:
    planner = Planner("s.yaml")
    async with (
        served.dashboard(api, planner=planner) as url,
        chromium.opened(browser, url) as one,
    ):
        await one.show("plan")
        await expect(one.page.locator(".errors")).to_have_text("plan 1 is refused")
        rows = one.page.locator("tbody tr")
        await expect(rows.nth(0)).to_contain_text("80 MiB")
        await expect(rows.nth(1)).to_contain_text("would fail")
        await expect(rows.nth(1).locator("td").nth(5)).to_have_text("unknown")
        await expect(one.page.get_by_text("<img")).to_be_visible()
        await clusters.create_node(api, "node-c")
        await one.show("images")
        await expect(one.page.get_by_role("button", name="node-c")).to_be_visible()
        await one.show("plan")
        await expect(rows).to_have_count(2)
        assert planner.made == 1
        await one.page.get_by_role("button", name="Plan again").click()
        await expect(one.page.locator(".errors")).to_have_text("plan 2 is refused")


_DROP = """(text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "dropped.yaml"));
  for (const name of ["dragover", "drop"]) {
    const options = {dataTransfer: data, bubbles: true, cancelable: true};
    document.body.dispatchEvent(new DragEvent(name, options));
  }
}"""


async def test_a_file_that_is_dropped_on_any_view_is_planned_per_node(
    api: KubeClient, browser: Browser
) -> None:
    planner = Planner()
    async with (
        served.dashboard(api, planner=planner) as url,
        chromium.opened(browser, url, bypass_csp=True) as one,
    ):
        page = one.page
        await page.evaluate(_DROP, "kind: PinnedImageSet")
        await expect(page.locator("h1")).to_have_text("Plan of sets")
        await expect(page.locator(".errors")).to_have_text("plan 1 is refused")
        await page.get_by_role("button", name="node-a").click()
        await expect(page.locator("#panel")).to_contain_text(clusters.IMAGE)
        assert await violations(page) == []
        await one.shot("plan-1280")
        await page.evaluate(_DROP, "hello")
        await expect(page.locator(".errors")).to_contain_text("the object has no kind")
        one.errors[:] = [text for text in one.errors if "422" not in text]
        await page.get_by_role("button", name="Close this plan").click()
        chooser = page.get_by_label("Or choose files")
        await chooser.set_input_files(
            {"name": "s.yaml", "mimeType": "text/yaml", "buffer": b"kind: PinnedImageSet"}
        )
        await expect(page.locator(".errors")).to_have_text("plan 2 is refused")
        assert [asked for asked in one.requests if "PinnedImageSet" in asked] == []


async def test_a_page_that_nobody_sees_holds_no_connection(
    api: KubeClient, browser: Browser
) -> None:
    await small_cluster(api)
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        await one.page.evaluate(
            """() => {
              Object.defineProperty(document, "hidden", {value: true, configurable: true});
              document.dispatchEvent(new Event("visibilitychange"));
            }"""
        )
        await api.delete(PINNED_IMAGE_SETS, "bad")
        await one.page.evaluate(
            """() => {
              Object.defineProperty(document, "hidden", {value: false, configurable: true});
              document.dispatchEvent(new Event("visibilitychange"));
            }"""
        )
        await one.show("pins")
        await expect(one.page.locator("button.set")).to_have_text(["good"])


async def test_a_dashboard_that_ends_is_reported(api: KubeClient, browser: Browser) -> None:
    await small_cluster(api)
    async with served.dashboard(api) as url:
        context = await browser.new_context()
        context.set_default_timeout(WAIT_MS_MAX)
        page = await context.new_page()
        await page.goto(url)
        await page.wait_for_selector("body[data-state=live]")
    await expect(page.locator("#banner")).to_contain_text(
        "Disconnected, retrying", timeout=WAIT_MS_MAX
    )
    await expect(page.locator(".problem").first).to_be_visible()
    await context.close()


async def test_empty_views_say_what_to_do_next(api: KubeClient, browser: Browser) -> None:
    async with served.dashboard(api) as url, chromium.opened(browser, url) as one:
        for view in ("pins", "plan", "prepull", "boot", "pruning"):
            await one.show(view)
            await expect(one.page.locator(".empty code").first).to_contain_text("lading")
        await clusters.create_set(api, "alone")
        await one.show("pins?set=alone")
        await expect(one.page.locator("#panel")).to_contain_text("It is for no node")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (640, "light")])
async def test_every_view_is_accessible(
    api: KubeClient, browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    """640 pixels are 1,280 at a zoom of 200 %."""
    await small_cluster(api)
    found = []
    async with (
        served.dashboard(api, plans.write_contents(tmp_path / "plan.jsonl"), Planner()) as url,
        chromium.opened(
            browser, url, width=width, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
        ) as one,
    ):
        for view in (
            *VIEWS, "pins?cell=node-b/bad", "pins?set=bad", "images?node=node-a",
            "prepull?image=default/share", "boot?machineSet=default/workers",
            "pruning?walk=team/app&why=team/app:v1",
        ):  # fmt: skip
            await one.show(view)
            await expect(one.page.get_by_text("Loading")).to_have_count(0)
            found += [f"{view}: {each}" for each in await violations(one.page)]
            wider = await one.page.evaluate(
                "document.documentElement.scrollWidth > window.innerWidth"
            )
            assert not wider, f"{view} is wider than the window"
    assert found == []
