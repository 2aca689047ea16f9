"""Connections in memory, in place of unix sockets: bytes arrive late, in order, or not at all.

Both ends belong to a process. What one process sends arrives in the other after a delay that the
network draws; a connection that is cut holds it back. When a process dies, its connections break,
as the kernel breaks them.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from lading.embedded.sim.processes import CURRENT, Process

Factory = Callable[[], asyncio.BaseProtocol]


class Wires(Protocol):
    """What the network does to the connections between two processes."""

    def delay_seconds(self, sender: Process, receiver: Process) -> float: ...

    def is_cut(self, one: Process, other: Process) -> bool: ...

    def breaks(self, sender: Process, receiver: Process) -> bool:
        """Whether the connection breaks instead of carrying the next bytes."""


class End(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, owner: Process, wires: Wires) -> None:
        super().__init__()
        self._loop = loop
        self._wires = wires
        self.owner = owner
        self.peer: End | None = None
        self.protocol: asyncio.Protocol
        self._arrives_at = 0.0
        self._is_closing = False
        self._is_lost = False
        self._is_reading = True
        self._unread: list[bytes] = []
        self._held: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert self.peer is not None
        if self._is_closing or not data:
            return
        if self._wires.is_cut(self.owner, self.peer.owner):
            self._held.append(bytes(data))
        elif self._wires.breaks(self.owner, self.peer.owner):
            self.break_off()
        else:
            self._send(self.peer.receive, bytes(data))

    def release(self) -> None:
        """Sends what was held back while the connection was cut."""
        held, self._held = self._held, []
        for data in held:
            self.write(data)

    def break_off(self) -> None:
        """Both processes see that the connection is lost."""
        for end in (self, self.peer):
            assert end is not None
            end._is_closing = True  # noqa: SLF001 - the same class
            end._lose(ConnectionResetError("connection reset by peer"))  # noqa: SLF001

    def receive(self, data: bytes) -> None:
        if self._is_lost or self._is_closing:
            return
        if self._is_reading:
            self.protocol.data_received(data)
        else:
            self._unread.append(data)

    def close(self) -> None:
        if self._is_closing:
            return
        assert self.peer is not None
        self._is_closing = True
        self._lose(None)
        self._send(self.peer.end)

    def abort(self) -> None:
        self.close()

    def end(self) -> None:
        """The other side has closed."""
        if self._is_lost:
            return
        if not self.protocol.eof_received():
            self._is_closing = True
            self._lose(None)

    def _send(self, callback: Callable[..., None], *args: Any) -> None:
        """In order: nothing overtakes what was sent before."""
        assert self.peer is not None
        delay = self._wires.delay_seconds(self.owner, self.peer.owner)
        self._arrives_at = max(self._arrives_at, self._loop.time() + delay)
        context = self.peer.owner.context.copy()
        self._loop.call_at(self._arrives_at, callback, *args, context=context)

    def _lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            context = self.owner.context.copy()
            self._loop.call_soon(self.protocol.connection_lost, error, context=context)

    # What protocols ask of a transport

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        unread, self._unread = self._unread, []
        for data in unread:
            self._loop.call_soon(self.receive, data, context=self.owner.context.copy())

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False


class Listener(asyncio.AbstractServer):
    def __init__(self, sockets: "Sockets", path: str) -> None:
        self._sockets = sockets
        self._path = path

    def close(self) -> None:
        self._sockets.listening.pop(self._path, None)

    def is_serving(self) -> bool:
        return self._path in self._sockets.listening

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._sockets.loop

    async def start_serving(self) -> None:
        pass

    async def serve_forever(self) -> None:
        raise NotImplementedError

    async def wait_closed(self) -> None:
        pass


class Sockets:
    """The listening sockets, by path, and the open connections of all processes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wires: Wires) -> None:
        self.loop = loop
        self._wires = wires
        self.listening: dict[str, tuple[Factory, Process]] = {}
        self._ends: list[End] = []

    def listen(self, factory: Factory, path: str) -> Listener:
        process = CURRENT.get()
        self.listening[path] = (factory, process)
        process.on_death.append(lambda: self._stop_listening(path, process))
        return Listener(self, path)

    async def connect(
        self, factory: Factory, path: str
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        process = CURRENT.get()
        found = self.listening.get(path)
        if found is None or self._wires.is_cut(process, found[1]):
            raise ConnectionRefusedError(111, "Connection refused")
        served, server = found
        near, far = (End(self.loop, one, self._wires) for one in (process, server))
        near.peer, far.peer = far, near
        near.set_protocol(factory())
        far.set_protocol(server.context.copy().run(served))
        self._ends = [one for one in self._ends if not one.is_closing()]
        self._ends += (near, far)
        near.protocol.connection_made(near)
        self.loop.call_soon(far.protocol.connection_made, far, context=server.context.copy())
        return near, near.protocol

    def process_died(self, process: Process) -> None:
        for end in self._ends:
            if end.owner is process and not end.is_closing():
                end.break_off()

    def release(self) -> None:
        """Sends everything that was held back and may pass now."""
        for end in self._ends:
            end.release()

    def _stop_listening(self, path: str, process: Process) -> None:
        if path in self.listening and self.listening[path][1] is process:
            del self.listening[path]
