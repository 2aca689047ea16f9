"""What the registry client costs, as ratios to bare aiohttp on the same server in the same run.

Both get one manifest of about 1 KB many times and one blob of some megabytes a few times from the
embedded registry, a process of its own. CPU time of the client counts, and the best of a few
rounds, because other work on the machine only ever makes a round worse.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import aiohttp

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.embedded.sample_images import SampleImage
from lading.kernel import references
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference

GETS = 1_000
IN_FLIGHT = 16
BLOB_BYTES = 64 * 1024 * 1024
BLOBS = 4
ROUNDS = 3
Work = Callable[[], Awaitable[None]]


async def serve(folder: str) -> None:
    """Prints its address and serves until it is terminated."""
    async with server.serve(Path(folder)) as url:
        print(url, flush=True)
        await asyncio.Event().wait()


@contextlib.contextmanager
def served() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.registry_client", "serve", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield process.stdout.readline().strip()
            finally:
                process.terminate()


async def many(count: int, one: Work) -> None:
    """Does the work `count` times, some at once."""
    turns = asyncio.Semaphore(IN_FLIGHT)

    async def in_turn() -> None:
        async with turns:
            await one()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(in_turn())


async def best_cpu_seconds(*works: Work) -> list[float]:
    """The least that each work took, measured in turns so that noise hits all alike."""
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for position, work in enumerate(works):
            began = time.process_time()
            await work()
            best[position] = min(best[position], time.process_time() - began)
    return best


async def push_samples(client: RegistryClient, app: Reference) -> tuple[SampleImage, Descriptor]:
    image = sample_images.image([{f"file{number}": b"x"} for number in range(6)])
    await sample_images.push(client, app, image)
    content = bytes(BLOB_BYTES)
    blob = Descriptor(media_type="", digest=Digest.of(content), size_bytes=BLOB_BYTES)

    async def pieces() -> AsyncIterator[bytes]:
        yield content

    await client.push_blob(app, blob, pieces())
    return image, blob


async def measure(url: str) -> dict[str, float]:
    app = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
    async with (
        registry_client.connect(SystemClock()) as client,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit_per_host=16)) as bare,
    ):
        image, blob = await push_samples(client, app)
        by_digest = app.at(image.digest)
        base = f"{url}/v2/{app.repository}"

        async def bare_get() -> None:
            async with bare.get(f"{base}/manifests/{image.digest}") as response:
                assert len(await response.read()) == len(image.manifest.content)

        async def client_get() -> None:
            assert (await client.manifest(by_digest)).content == image.manifest.content

        async def bare_blob() -> None:
            async with bare.get(f"{base}/blobs/{blob.digest}") as response:
                read = sum([len(piece) async for piece in response.content.iter_any()])
                assert read == BLOB_BYTES

        async def client_blob() -> None:
            assert sum([len(piece) async for piece in client.blob(app, blob)]) == BLOB_BYTES

        bare_gets, gets, bare_blobs, blobs = await best_cpu_seconds(
            lambda: many(GETS, bare_get),
            lambda: many(GETS, client_get),
            lambda: many(BLOBS, bare_blob),
            lambda: many(BLOBS, client_blob),
        )
    hashing = _hashing_seconds() * BLOBS
    return {
        "manifest_get_cpu_ratio": gets / bare_gets,
        "blob_cpu_ratio_without_hashing": (blobs - hashing) / bare_blobs,
        "manifest_get_cpu_microseconds": gets / GETS * 1e6,
        "blob_megabytes_per_cpu_second": BLOBS * BLOB_BYTES / 1e6 / blobs,
    }


def _hashing_seconds() -> float:
    """What verifying one blob costs by itself; bare aiohttp does not verify anything."""
    content = bytes(BLOB_BYTES)
    began = time.process_time()
    Digest.of(content)
    return time.process_time() - began


def run() -> dict[str, float]:
    with served() as url:
        return asyncio.run(measure(url))


def main() -> None:
    numbers = run()
    for name, number in numbers.items():
        print(f"{name:34}{number:10.2f}", file=sys.stderr)
    print(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(sys.argv[2]))
    else:
        main()
