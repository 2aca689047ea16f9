"""What the largest documents of hostile registries cost: time of the event loop, and memory."""

import asyncio
import concurrent.futures
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.kernel import json_values, manifests
from lading.kernel.errors import Malformed
from lading.kernel.platforms import Platform
from lading.ports import platform_image, registry
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import app, served, whole

AT_ONCE = 8
LOOP_SECONDS_MAX = 0.05
MEMORY_BYTES_MAX = 96 * 1024 * 1024
"""An idle agent has 55 MB, its pod 256 MiB."""
HOST = Platform(os="linux", architecture="arm64", variant="v9.5")
VALUES = json_values.VALUES_MAX - 8
START = b'{"schemaVersion":2,"manifests":['


def entry(number: int) -> dict[str, object]:
    platform = {
        "os": "linux",
        "architecture": "arm64",
        "variant": f"v{number}",
        "os.version": f"10.0.{number}",
        "os.features": [f"x{word}" for word in range(10)],
    }
    digest = f"sha256:{number:064x}"
    return {"mediaType": manifests.OCI_MANIFEST, "digest": digest, "size": 1, "platform": platform}


def padded(content: bytes) -> bytes:
    return content + b" " * (manifests.MANIFEST_BYTES_MAX - len(content))


def filled(start: bytes, piece: bytes, end: bytes) -> bytes:
    """As many pieces as fit, with commas between them."""
    count = (manifests.MANIFEST_BYTES_MAX - len(start + end)) // (len(piece) + 1)
    return padded(start + b",".join([piece] * count) + end)


def in_full(**fields: object) -> bytes:
    return padded(json.dumps({"schemaVersion": 2, "manifests": [], **fields}).encode())


DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "empty entries": lambda: filled(START, b"{}", b"]}"),
    "numbers that are not read": lambda: filled(START + b'],"x":[', b"1", b"]}"),
    "features": lambda: filled(START + b'{"platform":{"os.features":[', b'""', b"]}}]}"),
    "platforms": lambda: in_full(manifests=list(map(entry, range(manifests.ENTRIES_MAX)))),
    "annotations": lambda: in_full(annotations=dict.fromkeys(map(str, range(VALUES)), "")),
    "one text": lambda: filled(START + b'],"annotations":{"a":"', rb"\u00e9" * 10_000, b'"}}'),
}
"""Made when they are needed: the process that is measured holds none of them."""


@contextlib.contextmanager
def serving(document: bytes) -> Iterator[str]:
    """In a thread of its own, so that its work is not counted."""
    started: concurrent.futures.Future[str] = concurrent.futures.Future()
    ended = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        kind = f"Content-Type: {manifests.OCI_INDEX}"
        async with served(hostile.always(whole(document, kind))) as server:
            started.set_result(server.host)
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        yield started.result(timeout=30)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


@contextlib.asynccontextmanager
async def loop_turns() -> AsyncIterator[list[float]]:
    """The CPU seconds of each turn of the event loop."""
    turns: list[float] = []

    async def beat() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            turns.append(now - before)
            before = now

    beating = asyncio.create_task(beat())
    try:
        yield turns
    finally:
        beating.cancel()


async def resolved(client: RegistryClient, host: str) -> None:
    """Keeps no error: its trace would hold the document."""
    with contextlib.suppress(registry.RegistryError, Malformed):
        await platform_image.resolve(client, app(host), HOST, for_guest=False)
        pytest.fail("no such document leads to an image")


async def resolve_all(host: str) -> None:
    async with registry_client.connect(SystemClock(), limits=hostile.SMALL) as client:
        await asyncio.gather(*(resolved(client, host) for _ in range(AT_ONCE)))


async def hold_seconds(host: str) -> float:
    async with loop_turns() as turns:
        await resolve_all(host)
    return max(turns)


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_no_document_holds_the_event_loop(name: str) -> None:
    document = DOCUMENTS[name]()
    assert len(document) == manifests.MANIFEST_BYTES_MAX
    with serving(document) as host:
        assert min([await hold_seconds(host) for _ in range(3)]) < LOOP_SECONDS_MAX


def memory_bytes(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        found = next(line for line in status if line.startswith(f"{field}:"))
    return int(found.split()[1]) * 1024


def print_growth(host: str) -> None:
    """In a process of its own, which has held nothing large before."""
    before = memory_bytes("VmHWM")
    asyncio.run(resolve_all(host))
    print(memory_bytes("VmHWM") - before)


@pytest.mark.parametrize("name", ["empty entries", "platforms", "annotations"])
def test_many_documents_at_once_need_little_memory(name: str) -> None:
    with serving(DOCUMENTS[name]()) as host:
        program = f"from {__name__} import print_growth; print_growth({host!r})"
        command = [sys.executable, "-c", program]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert 0 < int(printed.stdout) < MEMORY_BYTES_MAX
