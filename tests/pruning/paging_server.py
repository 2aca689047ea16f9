"""An API server with very many Images, made page by page, over HTTP.

It keeps nothing: the memory that a reader takes is the reader's own. `read` is that reader, as a
process of its own: `python -m tests.pruning.paging_server URL` reads all Images, and prints how
many there were and the most memory that it ever had.
"""

import asyncio
import hashlib
import json
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.cluster import KubeCluster
from lading.adapters.kube.connection import Connection
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.engine.progress import PruneProgress

LAYERS = 10
_GROUP = "/apis/image.openshift.io/v1"
_LABELS = {f"io.example.label-{number}": "x" * 60 for number in range(25)}


@dataclass
class ManyImages:
    count: int
    expire_at: list[int] = field(default_factory=list)
    """The Images before which the list expires, each once."""
    sends_continuation: bool = True
    """Whether a 410 says where the rest of the list begins, as a kube-apiserver does."""
    limits: list[int] = field(default_factory=list)

    def answer(self, request: web.Request) -> web.Response:
        limit = int(request.query.get("limit", "0"))
        self.limits.append(limit)
        first = int(request.query.get("continue", "0"))
        end = min(first + limit, self.count) if limit else self.count
        if first and self.expire_at and first >= self.expire_at[0]:
            del self.expire_at[0]
            return self._expired(first)
        metadata = {"resourceVersion": "7", "continue": str(end) if end < self.count else ""}
        items = [_image(number) for number in range(first, end)]
        return web.json_response({"kind": "ImageList", "metadata": metadata, "items": items})

    def _expired(self, first: int) -> web.Response:
        metadata = {"continue": str(first)} if self.sends_continuation else {}
        status = {
            "kind": "Status",
            "code": 410,
            "reason": "Expired",
            "message": "The provided continue parameter is too old",
            "metadata": metadata,
        }
        return web.json_response(status, status=410)


@asynccontextmanager
async def serving(images: ManyImages) -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.Response:
        match request.path:
            case "/api":
                return web.json_response({"items": []})
            case "/apis":
                return web.json_response({"items": [_DISCOVERED]})
            case path if path == f"{_GROUP}/images":
                return images.answer(request)
            case path if path == f"{_GROUP}/imagestreams":
                return web.json_response({"metadata": {"resourceVersion": "7"}, "items": []})
            case _:
                return web.Response(status=404)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def read_in_a_process(url: str) -> dict[str, int]:
    """`images`, and in bytes the memory at the `start` and at the `most`."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.pruning.paging_server", url),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output
    found: dict[str, int] = json.loads(output)
    return found


async def _read(url: str) -> int:
    async with connect.connect(
        Connection(server=url), SystemClock(), requests_per_second=None
    ) as client:
        cluster = KubeCluster(client, address=url)
        found = await observe_streams.inventory(cluster, "registry.test", PruneProgress())
    return len(found.manifests)


_DISCOVERED: dict[str, Any] = {
    "metadata": {"name": "image.openshift.io"},
    "versions": [
        {
            "version": "v1",
            "resources": [
                {"resource": "images", "scope": "Cluster", "responseKind": {"kind": "Image"}},
                {
                    "resource": "imagestreams",
                    "scope": "Namespaced",
                    "responseKind": {"kind": "ImageStream"},
                },
            ],
        }
    ],
}


def _image(number: int) -> dict[str, Any]:
    """As large as those of real clusters: about 4 KB. Neighbours share most of their layers."""
    layers = [_digest(f"layer {(number + step) // 2}") for step in range(LAYERS)]
    return {
        "metadata": {
            "name": _digest(f"image {number}"),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {observe_streams.MANAGED: "true"},
        },
        "dockerImageLayers": [
            {"name": layer, "size": 1000, "mediaType": "application/vnd.oci.image.layer.v1.tar"}
            for layer in layers
        ],
        "dockerImageMetadata": {
            "Id": _digest(f"config {number}"),
            "Size": 1000 * LAYERS,
            "Created": "1970-01-01T00:00:00Z",
            "Config": {"Labels": _LABELS},
        },
    }


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    start = _peak_bytes()
    images = asyncio.run(_read(sys.argv[1]))
    print(json.dumps({"images": images, "start": start, "most": _peak_bytes()}))
