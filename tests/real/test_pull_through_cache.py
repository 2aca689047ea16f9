"""Ten nodes of a site behind one slow line, with distribution as the cache of the site.

Every image goes over the line once: docs/how-to/slow-line.md says how, and this counts the bytes.
The cache keeps a layer for the repository through which it was asked for, and passes on a layer
that is being fetched without keeping it. So one node comes first, and all nodes pull a shared
layer from the same repository.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import cluster, sample_images
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.embedded.registry import server
from lading.kernel import references
from lading.kernel.values import replace
from lading.loop import tasks
from lading.pinned_images.node.types import PinSettings
from tests.e2e.waiting import until
from tests.real.bed import registry, sandbox

pytestmark = pytest.mark.components("registry")

NODE_COUNT = 10
LINE_BYTES_PER_SECOND = 16 * 1024**2
SHARE_MAX = 1.1
"""Bytes over the line, of those of the set."""
BASE = {"base": sample_images.noise("base", 10 * 1024**2)}
IMAGES = tuple(
    sample_images.image([BASE, {"app": sample_images.noise(f"app-{number}", 5 * 1024**2)}])
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    cluster: StandaloneCluster
    line: Line
    cache: str
    repositories: tuple[str, ...]

    async def pin(self, *, only_first: bool) -> None:
        """Returns when every node of the set has pinned it."""
        body = self._pinned_set(only_first=only_first)
        written = await self.cluster.kube.apply(
            PINNED_IMAGE_SETS, body, field_manager="test", force=True
        )
        generation, nodes = written.metadata.generation, 1 if only_first else NODE_COUNT

        async def is_pinned() -> bool:
            found = await self.cluster.kube.get(PINNED_IMAGE_SETS, "site")
            status = found.status
            return status.observed_generation == generation and status.ready_node_count == nodes

        await until(is_pinned, f"{nodes} nodes have pinned the set", seconds_max=240)

    def _pinned_set(self, *, only_first: bool) -> dict[str, object]:
        images = [
            {"name": f"{self.cache}/{repository}@{one.digest}"}
            for repository, one in zip(self.repositories, IMAGES, strict=True)
        ]
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

    def share(self) -> float:
        return self.line.received_bytes / set_bytes()


@contextlib.asynccontextmanager
async def opened(folder: Path, repositories: tuple[str, ...]) -> AsyncIterator[Site]:
    nodes = tuple(NodeDescription(name=f"node-{number}") for number in range(NODE_COUNT))
    first = replace(nodes[0], labels=FIRST)
    options = ClusterOptions(
        data=folder / "up",
        nodes=(first, *nodes[1:]),
        settings=PinSettings(behind_cache=True),
    )
    with sandbox.sandbox() as place:
        async with (
            server.serve(folder / "origin") as origin,
            line_to(origin.removeprefix("http://")) as line,
            cluster.open_cluster(options, SystemClock()) as made,
            tasks.started(made.run()),
        ):
            await push_all(origin.removeprefix("http://"), repositories)
            cache = await asyncio.to_thread(
                registry.start, place, "3.1", name="cache", upstream=line.url
            )
            yield Site(cluster=made, line=line, cache=cache.host, repositories=repositories)


async def push_all(upstream: str, repositories: tuple[str, ...]) -> None:
    async with registry_client.connect(SystemClock()) as client:
        for repository, one in zip(repositories, IMAGES, strict=True):
            await sample_images.push(client, references.parse(f"{upstream}/{repository}:1"), one)


@pytest.mark.parametrize(
    "repositories",
    [
        pytest.param(("release",) * len(IMAGES), id="one repository"),
        pytest.param(
            tuple(f"app-{number}" for number in range(len(IMAGES))), id="a repository each"
        ),
    ],
)
async def test_with_one_node_first_the_set_goes_over_the_line_once(
    tmp_path: Path, repositories: tuple[str, ...]
) -> None:
    async with opened(tmp_path, repositories) as site:
        for only_first in (True, False):
            await site.pin(only_first=only_first)
        assert 1 <= site.share() <= SHARE_MAX, f"{site.share():.2f} times the set"
