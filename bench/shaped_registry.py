"""A registry as it is from far away: a proxy that delays each request and limits each connection.

It forwards bytes and understands nothing of them: what a client sends in one piece is a request,
which is true of requests without a body. One process per proxy, so that it has a core of its own
where there is one.
"""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

PIECE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    latency_seconds: float
    """From a request to the first byte of its answer, beyond what the registry takes."""
    connection_bytes_per_second: float


class ShapedConnection:
    """One client's connection and the connection to the registry behind it."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._free_at = 0.0
        """When the line has carried everything that was sent so far."""

    async def send_requests(
        self, client: asyncio.StreamReader, registry: asyncio.StreamWriter
    ) -> None:
        with contextlib.closing(registry):
            while piece := await client.read(PIECE_BYTES):
                await asyncio.sleep(self._shape.latency_seconds)
                registry.write(piece)
                await registry.drain()

    async def send_answers(
        self, registry: asyncio.StreamReader, client: asyncio.StreamWriter
    ) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.closing(client):
            while piece := await registry.read(PIECE_BYTES):
                client.write(piece)
                await client.drain()
                seconds = len(piece) / self._shape.connection_bytes_per_second
                self._free_at = max(self._free_at, loop.time()) + seconds
                await asyncio.sleep(self._free_at - loop.time())


async def serve(upstream: str, shape: Shape) -> None:
    """Prints its address and serves until it is terminated."""
    host, port = upstream.rsplit(":", 1)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        registry_reader, registry_writer = await asyncio.open_connection(host, int(port))
        connection = ShapedConnection(shape)
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(
                connection.send_requests(reader, registry_writer),
                connection.send_answers(registry_reader, writer),
            )

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def before(upstream: str, shape: Shape) -> Iterator[str]:
    """A shaped proxy before the registry at `host:port`; its own `host:port`."""
    numbers = (shape.latency_seconds, shape.connection_bytes_per_second)
    command = [sys.executable, "-m", "bench.shaped_registry", upstream, *map(str, numbers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None
        try:
            yield proxy.stdout.readline().strip()
        finally:
            proxy.terminate()


if __name__ == "__main__":
    latency, rate = map(float, sys.argv[2:])
    shape_of_the_line = Shape(latency_seconds=latency, connection_bytes_per_second=rate)
    asyncio.run(serve(sys.argv[1], shape_of_the_line))
