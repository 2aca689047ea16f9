"""Killed at any moment while images are pushed, the registry holds only what is whole."""

import asyncio
import contextlib
import random
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.retries import ClientLimits
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.kernel import manifests, references
from lading.kernel.manifests import ImageManifest
from lading.kernel.references import Reference
from lading.ports.registry import RegistryError

ROUNDS = 6
LONGEST_LIFE_SECONDS = 0.4
IMAGES_MAX = 1000
PROGRAM = """
import asyncio, sys
from pathlib import Path
from lading.embedded.registry import server

async def main():
    async with server.serve(Path(sys.argv[1])) as url:
        print(url, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def killed(folder: Path) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(folder), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip().removeprefix("http://"), process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.communicate()


async def push_until_killed(
    client: RegistryClient, host: str, life: str, *, images_max: int = IMAGES_MAX
) -> list[str]:
    """Pushes image after image; returns the tags of the pushes that were confirmed."""
    confirmed: list[str] = []
    for number in range(images_max):
        tag = f"{life}-{number}"
        image = sample_images.image([{"a": tag.encode() * 5000}, {"shared": b"s" * 100_000}])
        try:
            await sample_images.push(client, references.parse(f"{host}/team/app:{tag}"), image)
        except RegistryError:
            return confirmed
        confirmed.append(tag)
    return confirmed


async def check_whole(client: RegistryClient, reference: Reference) -> None:
    image = manifests.parse((await client.manifest(reference)).content)
    assert isinstance(image, ImageManifest)
    for descriptor in image.blobs:
        async for _piece in client.blob(reference, descriptor):
            pass


async def test_nothing_half_is_served_and_nothing_confirmed_is_lost(tmp_path: Path) -> None:
    confirmed: list[str] = []
    limits = ClientLimits(attempts_max=1)
    async with registry_client.connect(SystemClock(), limits=limits) as client:
        async with killed(tmp_path) as (host, _process):
            confirmed += await push_until_killed(client, host, "first", images_max=1)
        for life in range(ROUNDS):
            async with killed(tmp_path) as (host, process):
                loop = asyncio.get_running_loop()
                loop.call_later(random.uniform(0, LONGEST_LIFE_SECONDS), process.kill)
                confirmed += await push_until_killed(client, host, f"life{life}")
        async with server.serve(tmp_path) as url:
            app = references.parse(f"{url.removeprefix('http://')}/team/app:none")
            tags = await client.tags(app)
            for tag in tags:
                await check_whole(client, references.parse(f"{app.name}:{tag}"))
    assert "first-0" in confirmed
    assert set(confirmed) <= set(tags)
