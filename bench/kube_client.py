"""What the Kubernetes client costs, as ratios to a bare aiohttp + msgspec loop of the same run.

Both ask the same small server, a process of its own, for one object of about 1 KB many times and
follow many watch events. CPU time counts, and the best of a few rounds, because other work on the
machine only ever makes a round worse.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator

import aiohttp
import msgspec
from aiohttp import web

from bench.informer_server import CHUNK_EVENTS, config_map
from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.connection import Connection
from lading.api.core import CONFIG_MAPS, ConfigMap
from lading.ports.kube import Selection

GETS = 2_000
EVENTS = 20_000
ROUNDS = 3
UNLIMITED_PER_SECOND = 1e9
PATH = "/api/v1/namespaces/default/configmaps"
Work = Callable[[], Awaitable[int]]


class Event(msgspec.Struct):
    type: str
    object: ConfigMap


async def serve() -> None:
    """Prints its address and serves until it is terminated."""
    one = msgspec.json.encode(config_map(1, 1))
    chunk = b"".join(
        msgspec.json.encode({"type": "MODIFIED", "object": config_map(number, number)}) + b"\n"
        for number in range(CHUNK_EVENTS)
    )

    async def get(_request: web.Request) -> web.Response:
        return web.Response(body=one, content_type="application/json")

    async def watch(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(EVENTS // CHUNK_EVENTS):
            await response.write(chunk)
        return response

    app = web.Application()
    app.router.add_get(f"{PATH}/one", get)
    app.router.add_get(PATH, watch)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


@contextlib.contextmanager
def served() -> Iterator[str]:
    command = [sys.executable, "-m", "bench.kube_client", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


async def best_cpu_seconds(*works: Work) -> list[float]:
    """Of each work, in turns, so that a bad moment of the machine meets them all."""
    rounds = []
    for _ in range(ROUNDS):
        seconds = []
        for work in works:
            start = time.process_time()
            count = await work()
            seconds.append((time.process_time() - start) / count)
        rounds.append(seconds)
    return [min(column) for column in zip(*rounds, strict=True)]


async def measure(url: str) -> dict[str, float]:
    get_decoder = msgspec.json.Decoder(ConfigMap)
    event_decoder = msgspec.json.Decoder(Event)
    connected = connect.connect(
        Connection(server=url), SystemClock(), requests_per_second=UNLIMITED_PER_SECOND
    )
    async with aiohttp.ClientSession() as session, connected as client:

        async def bare_gets() -> int:
            for _ in range(GETS):
                async with session.get(f"{url}{PATH}/one") as response:
                    get_decoder.decode(await response.read())
            return GETS

        async def client_gets() -> int:
            for _ in range(GETS):
                await client.get(CONFIG_MAPS, "one", namespace="default")
            return GETS

        async def bare_events() -> int:
            async with session.get(f"{url}{PATH}", params={"watch": "true"}) as response:
                return len([event_decoder.decode(line) async for line in response.content])

        async def client_events() -> int:
            selection = Selection(namespace="default")
            watch = client.watch(CONFIG_MAPS, selection, timeout_seconds=60)
            return len([event async for event in watch])

        bare_get, get, bare_event, event = await best_cpu_seconds(
            bare_gets, client_gets, bare_events, client_events
        )
    return {
        "get_cpu_ratio": get / bare_get,
        "event_cpu_ratio": event / bare_event,
        "get_cpu_microseconds": get * 1e6,
        "event_cpu_microseconds": event * 1e6,
    }


def run() -> dict[str, float]:
    with served() as url:
        return asyncio.run(measure(url))


def main() -> None:
    numbers = run()
    for name, number in numbers.items():
        print(f"{name:28}{number:10.2f}", file=sys.stderr)
    print(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        main()
