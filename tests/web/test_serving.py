"""The dashboard as a whole, over HTTP: the cluster is only read, and its secrets stay there."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from yarl import URL

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import SECRETS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli.dashboard import SetPlans
from lading.loop import tasks
from lading.ports.http import HttpTransport, Request, Response
from lading.web import serving
from lading.web.pruning_plan import PlanReader
from lading.wiring.live_progress import LiveProgress
from tests.pinned_images.installed_api import api
from tests.web import clusters, plans

__all__ = ["api"]
SECRET = "correct-horse-battery"
ENCODED = base64.b64encode(SECRET.encode()).decode()
PATHS = (
    "/", "/events", "/static/app.js", "/details/cell?node=n&set=s", "/details/set?name=s",
    "/details/node?name=n", "/details/collection?name=n", "/details/image?name=default/share",
    "/details/plan", "/details/contents", "/details/contents?repository=team/app",
    "/details/why?reference=team/app:v1", "/details/pin-plan",
)  # fmt: skip
SET = f"""\
apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata: {{name: dropped}}
spec: {{pinnedImages: [{{name: "{clusters.IMAGE}"}}]}}
"""


@dataclass(slots=True)
class Recorded:
    """Passes requests on, and remembers them."""

    exchange: HttpTransport
    seen: list[Request] = field(default_factory=list)

    async def __call__(self, request: Request) -> Response:
        self.seen.append(request)
        return await self.exchange(request)


async def fill(api: KubeClient) -> None:
    """One object of each kind, each with a secret where its owner might have put one."""
    error = f"GET https://robot:{SECRET}@registry.example.com/v2: 401, token={SECRET}"
    await clusters.create_pool(api, "s")
    uid = await clusters.create_set(api, "s")
    condition = {"type": "Ready", "status": "False", "reason": "x", "message": error}
    since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    patch = {"status": {"conditions": [{**condition, **since}]}}
    await api.patch(PINNED_IMAGE_SETS, "s", patch, subresource="status")
    await clusters.create_node(api, "n")
    await clusters.report(api, "n", clusters.failed("s", uid, error), bad=True)
    await clusters.create_image(
        api, "share", state="error", failures=[{"node": "n", "reason": "x", "message": error}]
    )
    await clusters.create_history(api, "workers", state="Failed", reason="x", message=error)
    await clusters.create_pruner(api, message=error)
    auths = f'{{"auths": {{"registry.example.com": {{"auth": "{SECRET}"}}}}}}'
    pull = {".dockerconfigjson": base64.b64encode(auths.encode()).decode()}
    body = {"metadata": {"name": "pull"}, "type": "kubernetes.io/dockerconfigjson", "data": pull}
    await api.create(SECRETS, body, namespace="default")
    user_data = {"metadata": {"name": "worker-user-data"}, "data": {"userData": ENCODED}}
    await api.create(SECRETS, user_data, namespace="default")


@asynccontextmanager
async def opened(client: KubeClient, folder: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """As a browser that has opened the URL, when everything is there."""
    async with (
        serving.opened(
            client,
            SystemClock(),
            plan=PlanReader(plans.write_contents(folder / "plan.jsonl")),
            planner=SetPlans(client, journal=folder / "resolutions.jsonl"),
            agents=LiveProgress(client),
        ) as served,
        tasks.started(served.run()),
        aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True), base_url=URL(served.url).origin()
        ) as browser,
    ):
        await clusters.until(
            served.dashboard,
            lambda one: (
                len(one["problems"]) >= 3
                and {kind["state"] for kind in one["kinds"].values()} == {"served"}
                and one["nodes"]["n"]["cells"]["s"][0] == "Failed"
            ),
        )
        async with browser.get(URL(served.url).path_qs) as page:
            assert page.status == 200
        yield browser


async def answers(browser: aiohttp.ClientSession) -> dict[str, str]:
    """What is behind every path: all of it, or the first event."""
    found = {}
    for path in PATHS:
        async with asyncio.timeout(30), browser.get(path) as answer:
            assert answer.status == 200, f"{path}: {await answer.text()}"
            is_stream = path == "/events"
            body = await answer.content.readuntil(b"\n\n") if is_stream else await answer.read()
            found[path] = body.decode()
    headers = {"Origin": str(browser._base_url).rstrip("/")}
    files = {"files": {"dropped.yaml": SET}}
    async with browser.post("/plans/sets", json=files, headers=headers) as answer:
        found["/plans/sets"] = await answer.text()
        assert answer.status == 200, found["/plans/sets"]
    return found


async def test_whatever_is_asked_the_cluster_is_only_read(api: KubeClient, tmp_path: Path) -> None:
    await fill(api)
    recorded = Recorded(api._transport)
    async with opened(KubeClient(recorded), tmp_path) as browser:
        await answers(browser)
    assert {request.method for request in recorded.seen} == {"GET"}
    paths = {request.path for request in recorded.seen}
    assert paths
    assert not any(re.search(r"/(secrets|configmaps)\b", path) for path in paths)


async def test_no_secret_is_behind_any_path(api: KubeClient, tmp_path: Path) -> None:
    await fill(api)
    async with opened(api, tmp_path) as browser:
        found = await answers(browser)
    shown = [path for path, text in found.items() if "registry.example.com" in text]
    assert {"/events", "/details/cell?node=n&set=s", "/details/image?name=default/share"} <= {
        *shown
    }
    assert "401" in found["/details/set?name=s"]
    leaks = [path for path, text in found.items() if SECRET in text or ENCODED in text]
    assert leaks == []
