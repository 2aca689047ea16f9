"""A real Prometheus that scrapes some processes and evaluates a rule file."""

import asyncio
import contextlib
import json
import re
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import free_ports
from tests.e2e import waiting
from tests.real.setup import binaries


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    address: str

    async def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        found = (await self._get("alerts"))["alerts"]
        return {one["labels"]["alertname"] for one in found if one["state"] == "firing"}

    async def query(self, expression: str) -> list[Any]:
        """The samples of an expression at this moment."""
        words = urllib.parse.urlencode({"query": expression})
        found: list[Any] = (await self._get(f"query?{words}"))["result"]
        return found

    async def _get(self, path: str) -> Any:
        answer = await asyncio.to_thread(_get, f"http://{self.address}/api/v1/{path}")
        return json.loads(answer)["data"]


@contextlib.asynccontextmanager
async def scraping(*targets: str, rules: Path, folder: Path) -> AsyncIterator[Prometheus]:
    """Every second. No alert waits before it fires."""
    _configure(targets, rules, folder)
    address = f"127.0.0.1:{free_ports.find()}"
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
        yield Prometheus(address=address)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _configure(targets: tuple[str, ...], rules: Path, folder: Path) -> None:
    text = re.sub(r"^ +for: .*\n", "", rules.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (folder / "rules.yaml").write_text(text)
    scraped = [{"job_name": "lading", "static_configs": [{"targets": list(targets)}]}]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yaml")],
        "scrape_configs": scraped,
    }
    (folder / "prometheus.yaml").write_text(json.dumps(config))


async def _is_ready(address: str) -> bool:
    try:
        await asyncio.to_thread(_get, f"http://{address}/-/ready")
    except OSError:
        return False
    return True


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        content: bytes = answer.read()
    return content
