"""Every view with the real data of `lading up`, as a person sees it; keeps the screenshots."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser import chromium
from tests.cli.up_process import client_of, welcomed
from tests.command import lading
from tests.web import clusters

pytestmark = pytest.mark.timeout(300)
URL = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
VIEWS = {
    "overview": "overview",
    "pins": "pins",
    "cell": "pins?cell=node-1/first",
    "set": "pins?set=first",
    "images": "images?node=node-1",
    "prepull": "prepull?image=default/app",
    "boot": "boot?machineSet=default/workers",
    "pruning": "pruning",
}
SIZES = {1280: "light", 390: "dark"}


def an_image(folder: Path) -> Path:
    """An Image of the first image of the first set."""
    text = (folder / "first-set.yaml").read_text()
    [name, *_] = re.findall(r"name: (\S+/\S+@sha256:[0-9a-f]+)", text)
    file = folder / "image.yaml"
    file.write_text(
        "apiVersion: longhorn.io/v1beta2\nkind: Image\n"
        "metadata: {name: app, namespace: default}\n"
        f"spec: {{imageURL: '{name}'}}\n"
    )
    return file


async def test_every_view_shows_the_data_of_lading_up(tmp_path: Path, browser: Browser) -> None:
    where = ("--kubeconfig", str(tmp_path / "kubeconfig"))
    async with welcomed(tmp_path, "--nodes", "3") as (_, welcome):
        found = URL.search(welcome)
        assert found, welcome
        async with chromium.opened(browser, found[0]) as one:
            await one.show("pins")
            await expect(one.page.locator(".empty")).to_contain_text("lading pin create")
            for file in (tmp_path / "first-set.yaml", an_image(tmp_path)):
                applied = await lading("apply", "-f", str(file), *where)
                assert applied.code == 0, applied.errors
            async with client_of(tmp_path) as client:
                await clusters.create_history(
                    client, "workers", state="Current", target="new-image"
                )
            cells = one.page.locator("td.cell")
            await expect(cells).to_have_text(["✓ Pinned 3/3"] * 3)
            await one.show("prepull")
            await expect(one.page.locator("tbody")).to_contain_text("deployed")
            await one.show("images?node=node-1")
            await expect(one.page.locator("#panel")).to_contain_text(
                "Pinned: it is pinned, by first"
            )
            await one.show("overview")
            await expect(one.page.locator("#wrong")).to_have_text("Nothing is wrong")
            cookies = await one.page.context.storage_state()
        for width, scheme in SIZES.items():
            await keep_screenshots(
                browser, found[0], width, color_scheme=scheme, storage_state=cookies
            )


async def keep_screenshots(browser: Browser, url: str, width: int, **options: Any) -> None:
    async with chromium.opened(browser, url, width=width, **options) as one:
        for name, view in VIEWS.items():
            await one.show(view)
            await expect(one.page.locator("h1")).to_be_visible()
            await expect(one.page.get_by_text("Loading")).to_have_count(0)
            await one.shot(f"{name}-{width}")
