"""The network of a simulation: delays, lost requests and answers, errors, and cuts between hosts.

Everything is drawn from the seed. `Weather` says how likely each fault is; in calm weather there is
none, and only small delays remain.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import msgspec

from lading.adapters.kube.retry import not_reached
from lading.embedded.sim.event_loop import SimulatedLoop
from lading.embedded.sim.processes import CURRENT, Process
from lading.embedded.sim.trace import Trace
from lading.ports import kube
from lading.ports.http import HttpTransport, Request, Response

DELAY_SECONDS_MAX = 0.003
CUT_POLL_SECONDS = 0.5
CONNECT_SECONDS_MAX = 10.0
_GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """Probabilities for each request, each watch event and each piece of a connection."""

    slow: float = 0.0
    slow_seconds_max: float = 0.0
    refused: float = 0.0
    """The server is not reached."""
    request_lost: float = 0.0
    answer_lost: float = 0.0
    """The server has acted, and the client gets no answer."""
    too_many: float = 0.0
    server_error: float = 0.0
    watch_breaks: float = 0.0
    watch_is_silent: float = 0.0
    watch_expires: float = 0.0
    connection_breaks: float = 0.0


CALM = Weather()


class Network:
    """Implements `streams.Wires`. Processes of one host always reach each other."""

    def __init__(self, rng: random.Random, trace: Trace) -> None:
        self.rng = rng
        self.trace = trace
        self.weather = CALM
        self._cuts: set[frozenset[str]] = set()
        self.hosts: dict[str, str] = {}
        """By the name of the process."""

    def cut(self, one: str, other: str) -> None:
        self._cuts.add(frozenset((one, other)))

    def join(self, one: str, other: str) -> None:
        self._cuts.discard(frozenset((one, other)))

    def is_cut(self, one: Process, other: Process) -> bool:
        return bool(self._cuts) and frozenset((self._host(one), self._host(other))) in self._cuts

    def breaks(self, sender: Process, receiver: Process) -> bool:
        return self._happens(self.weather.connection_breaks) and not self._is_local(
            sender, receiver
        )

    def delay_seconds(self, sender: Process, receiver: Process) -> float:
        seconds = self.rng.random() * DELAY_SECONDS_MAX
        if self._happens(self.weather.slow) and not self._is_local(sender, receiver):
            seconds += self.rng.random() * self.weather.slow_seconds_max
        return seconds

    def draw(self, *faults: str) -> str:
        """One of the faults, or nothing."""
        drawn = self.rng.random() if self.weather is not CALM else 1.0
        for fault in faults:
            drawn -= getattr(self.weather, fault)
            if drawn < 0:
                return fault
        return ""

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self.rng.random() < probability

    def _is_local(self, one: Process, other: Process) -> bool:
        return self._host(one) == self._host(other)

    def _host(self, process: Process) -> str:
        return self.hosts.get(process.name, process.name)


class ApiLine:
    """The way of one process to the API server: an `HttpTransport`."""

    def __init__(
        self, loop: SimulatedLoop, network: Network, server: Process, core: HttpTransport
    ) -> None:
        self._loop = loop
        self._network = network
        self._server = server
        self._core = core

    async def __call__(self, request: Request) -> Response:
        me = CURRENT.get()
        network = self._network
        await asyncio.sleep(network.delay_seconds(me, self._server))
        fate = network.draw("refused", "request_lost", "answer_lost", "too_many", "server_error")
        if network.is_cut(me, self._server):
            await asyncio.sleep(network.rng.random() * CONNECT_SECONDS_MAX)
            if network.is_cut(me, self._server):
                fate = "refused"
        response = await self._answer(request, fate)
        await asyncio.sleep(network.delay_seconds(self._server, me))
        self._note(me, request, fate or str(response.status))
        if isinstance(response.body, bytes):
            return response
        relayed = self._relayed(me, response.body)
        return Response(status=response.status, headers=response.headers, body=relayed)

    async def _answer(self, request: Request, fate: str) -> Response:
        match fate:
            case "refused":
                self._note(CURRENT.get(), request, fate)
                raise not_reached("the API server", "connection refused")
            case "request_lost":
                self._note(CURRENT.get(), request, fate)
                raise kube.Unavailable("the connection was lost")
            case "too_many":
                return Response(status=429, headers={"retry-after": "1"}, body=b"{}")
            case "server_error":
                return Response(status=500, body=b"{}")
        task = self._loop.start(self._server, _awaited(self._core, request))
        await asyncio.wait({task})
        if fate == "answer_lost":
            self._note(CURRENT.get(), request, fate)
            raise kube.Unavailable("the connection was lost")
        return task.result()

    def _note(self, me: Process, request: Request, outcome: str) -> None:
        watch = " watch" if ("watch", "true") in request.query else ""
        text = f"{request.method} {request.path}{watch} -> {outcome}"
        self._network.trace.add(self._loop.time(), me.name, "request", text)

    async def _relayed(self, me: Process, body: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
        """The server sends on its own; what it sent arrives in order, some time later."""
        arrived: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        pump = self._loop.start(self._server, self._pump(me, body, arrived))
        me.on_death.append(pump.cancel)
        try:
            while (piece := await arrived.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            pump.cancel()
            me.on_death.remove(pump.cancel)

    async def _pump(
        self,
        me: Process,
        body: AsyncIterator[bytes],
        arrived: "asyncio.Queue[bytes | Exception | None]",
    ) -> None:
        network, arrives_at = self._network, 0.0

        def send(piece: bytes | Exception | None) -> None:
            nonlocal arrives_at
            delay = network.delay_seconds(self._server, me)
            arrives_at = max(arrives_at, self._loop.time() + delay)
            context = me.context.copy()
            self._loop.call_at(arrives_at, arrived.put_nowait, piece, context=context)

        assert isinstance(body, AsyncGenerator)
        async with aclosing(body):
            async for piece in body:
                while network.is_cut(me, self._server):  # noqa: ASYNC110 - virtual time
                    await asyncio.sleep(CUT_POLL_SECONDS)
                match network.draw("watch_breaks", "watch_is_silent", "watch_expires"):
                    case "watch_breaks":
                        send(piece[: len(piece) // 2])
                        send(kube.Unavailable("the connection was lost"))
                        return
                    case "watch_is_silent":
                        return  # and never a word again
                    case "watch_expires":
                        send(_GONE)
                        send(None)
                        return
                send(piece)
        send(None)


async def _awaited(core: HttpTransport, request: Request) -> Response:
    return await core(request)
