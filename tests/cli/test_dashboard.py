"""`lading dashboard` as a process, beside the cluster of `lading up`."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lading.embedded import cluster
from tests.cli.up_process import START_SECONDS_MAX, up, welcomed
from tests.command import lading
from tests.web import plans

pytestmark = pytest.mark.timeout(300)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
URL = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """As a browser that has opened the URL."""
    jar = aiohttp.CookieJar(unsafe=True)
    base = url.partition("?")[0]
    async with aiohttp.ClientSession(cookie_jar=jar, base_url=base) as browser:
        async with browser.get(url) as page:
            assert page.status == 200
        yield browser


async def dropped_plan(browser: aiohttp.ClientSession, text: str) -> tuple[int, str]:
    """As the page plans a file that is dropped on it."""
    [cookie] = browser.cookie_jar
    origin = f"http://127.0.0.1:{cookie.key.rpartition('-')[2]}"
    files = {"files": {"dropped.yaml": text}}
    async with browser.post("/plans/sets", json=files, headers={"Origin": origin}) as answer:
        return answer.status, await answer.text()


async def known_collection(browser: aiohttp.ClientSession, node: str) -> dict[str, Any]:
    """What the agent of the node answers, as soon as it does."""
    while True:
        async with browser.get("/details/collection", params={"name": node}) as answer:
            found: dict[str, Any] = await answer.json() if answer.status == 200 else {}
        if found.get("isKnown"):
            return found
        await asyncio.sleep(0.5)


async def test_it_prints_the_url_plans_its_files_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    async with up(tmp_path):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from lading.cli.main import main; main()",
            "dashboard", "--kubeconfig", str(tmp_path / "kubeconfig"),
            "-f", str(tmp_path / "first-set.yaml"),
            "--plan", str(plans.write_contents(tmp_path / "prune.jsonl")),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_SECONDS_MAX):
                line = (await process.stdout.readline()).decode()
                found = URL.search(line)
                assert found, line
                async with opened(found[0]) as browser:
                    async with browser.get("/events") as events:
                        assert await events.content.readline() == b"event: snapshot\n"
                    async with browser.get("/details/pin-plan") as answer:
                        plan = await answer.json()
                    collection = await known_collection(browser, "node-1")
                    async with browser.get("/details/plan") as answer:
                        pruning = await answer.json()
                    text = (tmp_path / "first-set.yaml").read_text()
                    dropped = await dropped_plan(browser, f"{text}---\n{CONFIG_MAP}")
                    broken = await dropped_plan(browser, text.replace("sha256:", "sha1:"))
                    (tmp_path / "first-set.yaml").unlink()
                    async with browser.get("/details/pin-plan") as answer:
                        gone = (answer.status, await answer.text())
                process.send_signal(signal.SIGINT)
                assert await process.wait() == 0
            [node] = plan["nodes"]
            assert (node["node"], node["added"], node["problems"]) == ("node-1", 3, [])
            assert plan["complaints"] == []
            assert (pruning["file"], pruning["registry"]) == ("prune.jsonl", "registry.test")
            assert collection["highPercent"] > collection["lowPercent"]
            assert dropped[0] == 200
            assert json.loads(dropped[1]) == {
                **plan,
                "files": ["dropped.yaml"],
                "notes": ["dropped.yaml: no plan is made for kind ConfigMap"],
            }
            assert broken[0] == 422
            assert broken[1].startswith("dropped.yaml:")
            assert gone[0] == 422
            assert "first-set.yaml" in gone[1]
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def test_lading_up_serves_it_too_with_its_own_agents_and_registry(tmp_path: Path) -> None:
    """With a password on its registry, which only `lading up` knows."""
    async with welcomed(tmp_path, "--registry-auth") as (_, welcome):
        found = URL.search(welcome)
        assert found, welcome
        async with asyncio.timeout(START_SECONDS_MAX), opened(found[0]) as browser:
            collection = await known_collection(browser, "node-1")
            status, text = await dropped_plan(browser, (tmp_path / "first-set.yaml").read_text())
            plans.write_contents(cluster.prune_plan_file(tmp_path))  # as a pruning Job does
            async with browser.get("/details/plan") as answer:
                pruning = await answer.json()
    assert collection["highPercent"] > collection["lowPercent"]
    assert pruning["registry"] == "registry.test"
    assert status == 200, text
    plan = json.loads(text)
    assert [(one["node"], one["toPull"]) for one in plan["nodes"]] == [("node-1", 3)]
    assert plan["complaints"] == []


async def test_a_cluster_that_does_not_answer_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "users: [{name: u, user: {}}]\n"
    )
    ended = await lading("dashboard", "--kubeconfig", str(file))
    assert ended.code == 1
    assert "127.0.0.1:1" in ended.errors


async def test_standard_input_is_no_file_to_plan() -> None:
    ended = await lading("dashboard", "-f", "-")
    assert ended.code == 2
    assert "expected a file" in ended.errors


async def test_a_plan_that_is_not_there_is_refused(tmp_path: Path) -> None:
    ended = await lading("dashboard", "--plan", str(tmp_path / "gone.jsonl"))
    assert ended.code == 2
    assert "gone.jsonl" in ended.errors
