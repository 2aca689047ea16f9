"""Pulls many images through one client into the embedded service, and measures what that takes.

Run as a program with an empty folder; prints JSON. Layers are made when they are asked for, so
that the memory measured is the service's and the client's, not the registry's.
"""

import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.kernel import platforms
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports.cri import ImageSpec
from lading.servers.cri import server
from lading.servers.cri.core import EmbeddedRuntime
from lading.wire import calls
from tests.servers.cri.memory_registry import PIECE_BYTES, MemoryRegistry

IMAGES = 500
LAYER_BYTES = 256 * 1024


@dataclass
class LazyRegistry(MemoryRegistry):
    seeds: dict[Digest, int] = field(default_factory=dict)
    in_flight: int = 0
    in_flight_max: int = 0

    def add_numbered(self, number: int) -> None:
        layer = _layer(number)
        self.add_image(f"r.io/image-{number}:1", layers=(layer,))
        digest = Digest.of(layer)
        self.seeds[digest] = number
        del self.blobs[digest]

    async def blob(
        self, repository: Reference, descriptor: Descriptor, *, offset: int = 0
    ) -> AsyncGenerator[bytes, None]:
        seed = self.seeds.get(descriptor.digest)
        content = self.blobs[descriptor.digest] if seed is None else _layer(seed)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight, self.in_flight_max)
        try:
            for start in range(offset, len(content), PIECE_BYTES):
                await asyncio.sleep(0)
                yield content[start : start + PIECE_BYTES]
        finally:
            self.in_flight -= 1


def _layer(number: int) -> bytes:
    return random.Random(number).randbytes(LAYER_BYTES)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def measured(folder: Path) -> dict[str, float]:
    registry = LazyRegistry()
    for number in range(IMAGES):
        registry.add_numbered(number)
    runtime = EmbeddedRuntime(
        root=folder / "store",
        registry=registry,
        clock=SystemClock(),
        platform=platforms.parse("linux/amd64"),
    )
    async with (
        server.serve(runtime, folder / "cri.sock") as endpoint,
        calls.channel_to(endpoint) as channel,
    ):
        cri_client = CriClient(channel)
        await cri_client.version()
        idle_bytes, started = _peak_bytes(), time.monotonic()
        await asyncio.gather(
            *(cri_client.pull(ImageSpec(image=f"r.io/image-{n}:1")) for n in range(IMAGES))
        )
        seconds = time.monotonic() - started
        listed = len(await cri_client.images())
    runtime.close()
    return {
        "images": listed,
        "seconds": seconds,
        "bytes_over_idle": _peak_bytes() - idle_bytes,
        "blobs_in_flight_max": registry.in_flight_max,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(Path(sys.argv[1])))))
