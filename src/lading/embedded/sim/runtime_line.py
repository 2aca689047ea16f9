"""The way of an agent to the runtime of its node: calls and answers as on a socket, without HTTP/2.

The messages are those of the protocol, encoded and decoded. A call ends when the runtime dies, when
its time is over, or with the answer; a caller that gives up ends the call in the runtime too.
"""

import asyncio
from collections.abc import Callable, Mapping

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from lading.embedded.sim.event_loop import SimulatedLoop
from lading.embedded.sim.network import Network
from lading.embedded.sim.processes import CURRENT, Process
from lading.wire.calls import CallFailed, Channel, Metadata, Response
from lading.wire.handlers import Service

ENDPOINT = "unix:///run/runtime.sock"
Served = Callable[[], tuple[Process, Mapping[str, Service]]]


class RuntimeLine(Channel):
    def __init__(self, loop: SimulatedLoop, network: Network, served: Served) -> None:
        super().__init__(ENDPOINT)
        self._loop = loop
        self._network = network
        self._served = served

    async def call(
        self,
        service: ServiceDescriptor,
        method: str,
        request: Message,
        response: type[Response],
        *,
        metadata: Metadata = (),
        timeout_seconds: float | None = None,
    ) -> Response:
        me = CURRENT.get()
        server, services = self._served()
        await asyncio.sleep(self._network.delay_seconds(me, server))
        if not server.is_alive or service.full_name not in services:
            message = f"cannot connect to {ENDPOINT}: Connection refused"
            raise CallFailed(Status.UNAVAILABLE, message)
        answering = services[service.full_name].answer(method, request, dict(metadata))
        task = self._loop.start(server, answering)
        died = self._loop.create_future()

        def notice() -> None:
            if not died.done():
                died.set_result(None)

        server.on_death.append(notice)
        me.on_death.append(task.cancel)
        try:
            await asyncio.wait(
                {task, died}, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            me.on_death.remove(task.cancel)
            server.on_death.remove(notice)
            task.cancel()
        await asyncio.sleep(self._network.delay_seconds(server, me))
        return self._outcome(task, died, response, timeout_seconds)

    def _outcome(
        self,
        task: "asyncio.Task[Message]",
        died: "asyncio.Future[None]",
        response: type[Response],
        timeout_seconds: float | None,
    ) -> Response:
        if task.done() and not task.cancelled():
            try:
                return response.FromString(task.result().SerializeToString())
            except GRPCError as error:
                raise CallFailed(error.status, error.message or error.status.name) from error
        if died.done():
            message = f"the connection to {ENDPOINT} broke: connection reset by peer"
            raise CallFailed(Status.UNAVAILABLE, message)
        message = f"no answer in {timeout_seconds} seconds"
        raise CallFailed(Status.DEADLINE_EXCEEDED, message)
