"""The embedded API server against the least it could be: one SQLite insert behind aiohttp.

Both are measured in the same run, on loopback, one client, one request after the other:

    python -m bench.kube_server

The promise is that a create costs at most 10 times the bare round trip.
"""

import asyncio
import contextlib
import json
import pathlib
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator

import aiohttp
import msgspec
from aiohttp import web

from lading.adapters.clock import SystemClock
from lading.embedded.kube import authentication, http
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage import sqlite

CREATES = 1_000
ROUNDS = 3
LISTED_OBJECTS = 10_000
PAGE_OBJECTS = 500
CREATE_RATIO_MAX = 10.0
TOKEN = "bench"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
PATH = "/api/v1/namespaces/default/configmaps"


def body(name: str) -> bytes:
    document = {"metadata": {"name": name}, "data": {"text": "x" * 900}}
    return msgspec.json.encode(document)


@contextlib.asynccontextmanager
async def bare(path: pathlib.Path) -> AsyncIterator[str]:
    """Decodes, inserts in a transaction of its own, encodes: nothing else."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE changes (revision INTEGER PRIMARY KEY, body BLOB)")

    async def insert(request: web.Request) -> web.Response:
        document = msgspec.json.decode(await request.read())
        with connection:
            connection.execute(
                "INSERT INTO changes (body) VALUES (?)", (msgspec.json.encode(document),)
            )
        return web.Response(status=201, body=msgspec.json.encode(document))

    app = web.Application()
    app.router.add_post("/{path:.*}", insert)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()
    connection.close()


@contextlib.asynccontextmanager
async def embedded(path: pathlib.Path) -> AsyncIterator[str]:
    storage = sqlite.open(path)
    core = Core(storage, SystemClock(), tokens={TOKEN: authentication.ADMIN})
    async with http.serve(core) as url:
        yield url
        await core.close()
    storage.close()


async def create(session: aiohttp.ClientSession, start: int, count: int) -> float:
    """Microseconds for each create."""
    began = time.perf_counter()
    for number in range(start, start + count):
        async with session.post(PATH, data=body(f"object-{number}")) as response:
            assert response.status == 201, await response.text()
            await response.read()
    return (time.perf_counter() - began) / count * 1e6


async def list_pages(session: aiohttp.ClientSession) -> tuple[int, float]:
    """How many objects all pages have together, and the seconds they took."""
    began, found, token = time.perf_counter(), 0, ""
    while True:
        query = {"limit": str(PAGE_OBJECTS), "continue": token}
        async with session.get(PATH, params=query) as response:
            page = msgspec.json.decode(await response.read())
        found += len(page["items"])
        token = page["metadata"].get("continue", "")
        if not token:
            return found, time.perf_counter() - began


def session(url: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(url, headers=HEADERS)


async def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder)
        async with (
            bare(directory / "bare.db") as bare_url,
            embedded(directory / "kube.db") as kube_url,
            session(bare_url) as bare_session,
            session(kube_url) as kube_session,
        ):
            bare_rounds, kube_rounds = [], []
            for number in range(ROUNDS):
                bare_rounds.append(await create(bare_session, number * CREATES, CREATES))
                kube_rounds.append(await create(kube_session, number * CREATES, CREATES))
            done = ROUNDS * CREATES
            await create(kube_session, done, LISTED_OBJECTS - done)
            listed, list_seconds = await list_pages(kube_session)
    assert listed == LISTED_OBJECTS
    ratio = min(kube_rounds) / min(bare_rounds)
    return {
        "create_ratio": ratio,
        "create_ratio_share_of_limit": ratio / CREATE_RATIO_MAX,
        "create_microseconds": min(kube_rounds),
        "list_of_10000_in_pages_seconds": list_seconds,
    }


def run() -> dict[str, float]:
    return asyncio.run(measure())


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
