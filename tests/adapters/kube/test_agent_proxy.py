"""A page that is small on the way and huge when it is unpacked costs a command little memory."""

import asyncio
import subprocess
import sys
import zlib

from aiohttp import web

from tests.adapters.endless import MEBIBYTE
from tests.adapters.kube import stand

TAKEN_MIB_MAX = 64
ASKING = """
import asyncio, resource, sys
from lading.adapters.clock import SystemClock
from lading.adapters.kube import agent_proxy
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.transport import NetworkTransport
from lading.kernel.objects import Key
from lading.ports.kube import TooLarge

async def ask():
    async with NetworkTransport(Connection(server=sys.argv[1]), SystemClock()) as exchange:
        client = KubeClient(exchange)
        await agent_proxy.page(client, "a", None, "/small")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            await agent_proxy.page(client, "a", Key(namespace="n", name="p"), "/huge")
        except TooLarge as error:
            print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, error)

asyncio.run(ask())
"""


def bomb() -> bytes:
    """1 GiB of zeros in 1 MiB."""
    packer = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(16 * MEBIBYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * 64


async def test_a_page_that_unpacks_to_a_gigabyte_is_refused_in_little_memory() -> None:
    packed = bomb()
    assert len(packed) < 2 * MEBIBYTE

    async def answer(_request: web.BaseRequest) -> web.Response:
        return web.Response(body=packed, headers={"content-encoding": "gzip"})

    async with stand.running(stand.answer({}), answer) as server:
        asked = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", ASKING, server.url],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    taken_mib, _, error = asked.stdout.partition(" ")
    assert int(taken_mib) < TAKEN_MIB_MAX
    assert "/namespaces/n/pods/p/proxy/huge" in error
    assert "more than 4194304 bytes" in error
