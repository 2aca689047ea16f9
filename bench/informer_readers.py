"""The readers of the informer benchmark, each run in a process of its own.

`bare` is the least that reading and following can cost in Python; `informer` is the whole way:
client, reflector, store, an index, and a controller that reconciles nothing.
"""

import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import Awaitable, Callable

import aiohttp
import msgspec
import prometheus_client

from bench.informer_server import PAGE_OBJECTS, PATH
from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.connection import Connection
from lading.api.core import CONFIG_MAPS, ConfigMap
from lading.kernel.objects import Key
from lading.loop import controller, tasks
from lading.loop.informer import Informers
from lading.observability.metrics import Metrics

Cost = dict[str, float]


class ListMeta(msgspec.Struct):
    token: str = msgspec.field(name="continue", default="")


class ConfigMapList(msgspec.Struct):
    metadata: ListMeta
    items: list[ConfigMap]


class Event(msgspec.Struct):
    type: str
    object: ConfigMap


class Costs:
    """CPU seconds between laps, and the memory at the end."""

    def __init__(self) -> None:
        self._at = time.process_time()
        self._cost: Cost = {}

    def lap(self, name: str) -> None:
        before, self._at = self._at, time.process_time()
        self._cost[name] = self._at - before

    def total(self) -> Cost:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        return self._cost | {"memory_mb": pages * resource.getpagesize() / 1e6}


async def read_bare(url: str, objects: int, events: int) -> Cost:
    list_decoder = msgspec.json.Decoder(ConfigMapList)
    event_decoder = msgspec.json.Decoder(Event)
    store: dict[Key, ConfigMap] = {}
    costs = Costs()
    async with aiohttp.ClientSession() as session:
        query = {"limit": str(PAGE_OBJECTS), "continue": "0"}
        while query["continue"]:
            async with session.get(url + PATH, params=query) as response:
                page = list_decoder.decode(await response.read())
            store |= {one.key: one for one in page.items}
            query["continue"] = page.metadata.token
        costs.lap("list_seconds")
        received = 0
        async with session.get(url + PATH, params={"watch": "true"}) as response:
            async for line in response.content:
                one = event_decoder.decode(line).object
                store[one.key] = one
                received += 1
        costs.lap("event_seconds")
    assert (len(store), received) == (objects, events)
    return costs.total()


async def read_with_informer(url: str, objects: int, events: int) -> Cost:
    clock, rng = SystemClock(), random.Random(1)
    metrics = Metrics(prometheus_client.CollectorRegistry())
    reached = asyncio.Event()
    last_revision = str(1 + events)
    costs = Costs()

    def notice(_: ConfigMap | None, new: ConfigMap | None) -> None:
        if new and new.metadata.resource_version == last_revision:
            reached.set()

    async def reconcile(_: Key) -> None:
        return None

    async with connect.connect(Connection(server=url), clock) as kube:
        informers = Informers(kube=kube, clock=clock, rng=rng, metrics=metrics)
        config_maps = informers.of(CONFIG_MAPS)
        by_pool = config_maps.index(lambda one: (one.metadata.labels["pool"],))
        config_maps.add_handler(notice)
        worker = controller.Controller(
            name="bench", reconcile=reconcile, clock=clock, rng=rng, metrics=metrics
        )
        worker.watch(config_maps, controller.own_key)
        async with tasks.started(informers.run()), tasks.started(worker.run()):
            await config_maps.synced.wait()
            costs.lap("list_seconds")
            if events:
                await reached.wait()
            costs.lap("event_seconds")
    assert len(by_pool.find("worker")) == objects
    return costs.total()


READERS: dict[str, Callable[[str, int, int], Awaitable[Cost]]] = {
    "bare": read_bare,
    "informer": read_with_informer,
}


async def main(reader: str, url: str, objects: str, events: str) -> None:
    print(json.dumps(await READERS[reader](url, int(objects), int(events))))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
