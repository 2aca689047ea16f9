"""Calls against peers that are slow, gone, or no gRPC servers at all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc.aio
import pytest
from grpclib.const import Status

from lading.kernel.errors import Malformed
from lading.wire import calls, cri_pb2, handlers
from lading.wire.calls import CallFailed, Channel
from tests.wire.calling import RUNTIME, version


@dataclass
class Peer:
    """Whoever connects is answered with these bytes, and then with silence."""

    says: bytes = b""
    hangs_up: bool = False
    connections: asyncio.Queue[asyncio.StreamWriter] = field(default_factory=asyncio.Queue)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(self.says)
        if self.hangs_up:
            writer.close()
        self.connections.put_nowait(writer)


@asynccontextmanager
async def channel_to(peer: Peer, folder: Path) -> AsyncIterator[Channel]:
    path = folder / "peer.sock"
    async with await asyncio.start_unix_server(peer.accept, path):
        async with calls.channel_to(f"unix://{path}") as channel:
            yield channel
        while not peer.connections.empty():
            writer = peer.connections.get_nowait()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


class Answering:
    async def version(self, request: object, context: object) -> cri_pb2.VersionResponse:
        return cri_pb2.VersionResponse(runtime_name="answering")


@asynccontextmanager
async def answering() -> AsyncIterator[int]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (
            handlers.handlers(
                RUNTIME,
                Answering(),
                refusals=LookupError,
                status_of=lambda error: (grpc.StatusCode.NOT_FOUND, str(error)),
            ),
        )
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
async def test_a_connection_that_breaks_ends_the_call_and_nothing_else(
    tmp_path: Path, says: bytes
) -> None:
    async with channel_to(Peer(says=says, hangs_up=True), tmp_path) as channel:
        with pytest.raises(CallFailed, match=r"the connection to unix://\S+ broke") as caught:
            await version(channel)
    assert caught.value.status is Status.UNAVAILABLE
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("turns", range(8))
async def test_a_cancelled_caller_gets_the_cancellation_whatever_the_connection_does(
    tmp_path: Path, turns: int
) -> None:
    peer = Peer()
    async with channel_to(peer, tmp_path) as channel:
        call = asyncio.create_task(version(channel))
        (await peer.connections.get()).transport.abort()
        for _ in range(turns):
            await asyncio.sleep(0)
        if call.cancel():
            with pytest.raises(asyncio.CancelledError):
                await call
        else:
            with pytest.raises(CallFailed):
                await call


async def test_a_silent_peer_is_given_up_after_the_time_limit(tmp_path: Path) -> None:
    async with channel_to(Peer(), tmp_path) as channel:
        with pytest.raises(CallFailed, match=r"no answer in 0\.1 seconds") as caught:
            await version(channel, timeout_seconds=0.1)
    assert caught.value.status is Status.DEADLINE_EXCEEDED


@pytest.mark.parametrize("scheme", ["", "tcp://"])
async def test_a_peer_may_listen_on_a_port(scheme: str) -> None:
    async with (
        answering() as port,
        calls.channel_to(f"{scheme}127.0.0.1:{port}") as channel,
    ):
        assert await version(channel) == "answering"


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "containerd.sock",
        "unix://",
        "http://127.0.0.1:1",
        "127.0.0.1",
        "127.0.0.1:",
        ":1",
        "h:x",
    ],
)
def test_an_endpoint_that_cannot_be_one_is_refused_with_an_example(endpoint: str) -> None:
    with pytest.raises(Malformed, match="expected unix:///path or host:port"):
        Channel(endpoint)
