"""Ten nodes of a site behind one slow line, with distribution as the cache of the site.

Every image goes over the line once: docs/how-to/slow-line.md says how, and this counts the bytes.
"""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.api.core import NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel import references
from lading.servers.registry import server
from lading.standalone import sample_images
from tests.cli import up_process
from tests.real.bed import registry, sandbox

pytestmark = pytest.mark.components("registry")

NODE_COUNT = 10
LINE_BYTES_PER_SECOND = 8 * 1024**2
SHARE_MAX = 1.1
"""Bytes over the line, of those of the set."""
BASE = {"base": sample_images.noise("base", 4 * 1024**2)}
REPOSITORY = "team/release"
"""One, as for the images of a release: the cache fetches a shared layer once per repository."""
IMAGES = tuple(
    sample_images.image([BASE, {"app": sample_images.noise(f"app-{number}", 2 * 1024**2)}])
    for number in range(5)
)
FIRST = {"first": "yes"}


@dataclass(slots=True)
class Line:
    """Between the site and the registry; counts what comes to the site."""

    upstream: str
    url: str = ""
    received_bytes: int = 0
    _free_at: float = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self.upstream.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(
                self._carry(reader, far_writer, is_answer=False),
                self._carry(far_reader, writer, is_answer=True),
            )

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with contextlib.closing(writer):
            while piece := await reader.read(64 * 1024):
                if is_answer:
                    await self._pass(len(piece))
                writer.write(piece)
                await writer.drain()

    async def _pass(self, count: int) -> None:
        """All connections share the line."""
        now = asyncio.get_running_loop().time()
        self.received_bytes += count
        self._free_at = max(self._free_at, now) + count / LINE_BYTES_PER_SECOND
        await asyncio.sleep(self._free_at - now)


@contextlib.asynccontextmanager
async def line_to(upstream: str) -> AsyncIterator[Line]:
    line = Line(upstream=upstream)
    listening = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    async with listening:
        line.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield line
        listening.close()


def set_bytes() -> int:
    blobs: dict[str, int] = {}
    for one in IMAGES:
        blobs[str(one.digest)] = len(one.manifest.content)
        blobs |= {str(found.digest): found.size_bytes for found, _ in one.blobs}
    return sum(blobs.values())


def pinned_set(cache: str, *, only_first: bool) -> dict[str, object]:
    images = [{"name": f"{cache}/{REPOSITORY}@{one.digest}"} for one in IMAGES]
    selector = {"nodeSelector": {"matchLabels": FIRST}} if only_first else {}
    return {
        "apiVersion": PINNED_IMAGE_SETS.api_version,
        "kind": PINNED_IMAGE_SETS.kind,
        "metadata": {
            "name": "site",
            "labels": {"machineconfiguration.openshift.io/role": "worker"},
        },
        "spec": {"pinnedImages": images, **selector},
    }


async def wait_until_pinned(data: Path) -> None:
    command = (str(Path(sys.executable).with_name("lading")), "pin", "wait", "site")
    options = ("--timeout", "4m", "--kubeconfig", str(data / "kubeconfig"))
    await asyncio.to_thread(subprocess.run, [*command, *options], check=True)


async def push_all(upstream: str) -> None:
    async with registry_client.connect(SystemClock()) as client:
        for number, one in enumerate(IMAGES):
            tag = references.parse(f"{upstream}/{REPOSITORY}:{number}")
            await sample_images.push(client, tag, one)


async def test_with_one_node_first_the_set_goes_over_the_line_once(tmp_path: Path) -> None:
    with sandbox.sandbox() as place:
        async with (
            server.serve(tmp_path / "origin") as origin,
            line_to(origin.removeprefix("http://")) as line,
            up_process.up(place.folder / "up", "--nodes", str(NODE_COUNT)),
            up_process.client_of(place.folder / "up") as client,
        ):
            await push_all(origin.removeprefix("http://"))
            cache = await asyncio.to_thread(
                registry.start, place, "3.1", name="cache", upstream=line.url
            )
            await client.patch(NODES, "node-1", {"metadata": {"labels": FIRST}})
            for only_first in (True, False):
                body = pinned_set(cache.host, only_first=only_first)
                await client.apply(PINNED_IMAGE_SETS, body, field_manager="test", force=True)
                await wait_until_pinned(place.folder / "up")
        share = line.received_bytes / set_bytes()
        assert 1 <= share <= SHARE_MAX, f"{share:.2f} times the set"
