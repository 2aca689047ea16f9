"""A real Prometheus that scrapes one process and evaluates a rule file."""

import asyncio
import contextlib
import json
import re
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from tests.e2e import waiting
from tests.real.bed import sandbox
from tests.real.setup import binaries


@contextlib.asynccontextmanager
async def scraping(
    target: str, rules: Path, folder: Path
) -> AsyncIterator[Callable[[], Awaitable[set[str]]]]:
    """Every second; hands over what tells the alerts that fire. No alert waits before it fires."""
    _configure(target, rules, folder)
    address = f"127.0.0.1:{sandbox.free_port()}"
    with (folder / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            binaries.unpacked("prometheus", "usr/bin/prometheus"),
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        await waiting.until(lambda: _is_ready(address), "Prometheus was ready")
        yield lambda: asyncio.to_thread(_firing, address)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _configure(target: str, rules: Path, folder: Path) -> None:
    text = re.sub(r"^ +for: .*\n", "", rules.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (folder / "rules.yaml").write_text(text)
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yaml")],
        "scrape_configs": [{"job_name": "controller", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yaml").write_text(json.dumps(config))


async def _is_ready(address: str) -> bool:
    try:
        await asyncio.to_thread(_get, f"http://{address}/-/ready")
    except OSError:
        return False
    return True


def _firing(address: str) -> set[str]:
    found = json.loads(_get(f"http://{address}/api/v1/alerts"))["data"]["alerts"]
    return {one["labels"]["alertname"] for one in found if one["state"] == "firing"}


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        content: bytes = answer.read()
    return content
