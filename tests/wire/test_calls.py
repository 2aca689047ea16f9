"""Calls against peers that are slow, gone, or no gRPC servers at all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from grpclib.const import Status

from lading.kernel.errors import Malformed
from lading.wire import MESSAGE_BYTES_MAX, calls, connection, cri_pb2
from lading.wire.calls import CallFailed, Channel
from tests.wire.calling import RUNTIME, version


async def asked(channel: Channel, text: str) -> str:
    """The version that the server answers with."""
    request = cri_pb2.VersionRequest(version=text)
    answer = await channel.call(RUNTIME, "Version", request, cri_pb2.VersionResponse)
    return answer.version


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
    """With the version that it was asked for; but some versions mean something else."""

    def __init__(self) -> None:
        self.is_slow = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def version(
        self, request: cri_pb2.VersionRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> cri_pb2.VersionResponse:
        if request.version == "slow":
            self.is_slow.set()
            try:
                await asyncio.sleep(60)
            finally:
                self.cancelled.set()
        if request.version.startswith("no"):
            await context.abort(grpc.StatusCode.NOT_FOUND, request.version)
        return cri_pb2.VersionResponse(runtime_name="answering", version=request.version)


@asynccontextmanager
async def answering(servicer: Answering | None = None, *, port: int = 0) -> AsyncIterator[int]:
    """gRPC's own server: Lading's client must understand it."""
    method = grpc.unary_unary_rpc_method_handler(
        (servicer or Answering()).version,
        request_deserializer=cri_pb2.VersionRequest.FromString,
        response_serializer=cri_pb2.VersionResponse.SerializeToString,
    )
    server = grpc.aio.server(
        options=(
            ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
            ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        )
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(RUNTIME.full_name, {"Version": method}),)
    )
    port = server.add_insecure_port(f"127.0.0.1:{port}")
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


async def test_a_peer_that_speaks_something_else_is_named_so(tmp_path: Path) -> None:
    async with channel_to(Peer(says=b"HTTP/1.1 400 Bad Request\r\n\r\n"), tmp_path) as channel:
        with pytest.raises(CallFailed, match="broke: the peer does not speak HTTP/2"):
            await version(channel)


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
        "h:65536",
        f"h:{'9' * 5000}",
    ],
)
def test_an_endpoint_that_cannot_be_one_is_refused_with_an_example(endpoint: str) -> None:
    with pytest.raises(Malformed, match="expected unix:///path or host:port"):
        Channel(endpoint)


async def test_grpcs_own_server_answers_many_calls_at_a_time() -> None:
    texts = [str(number) * number for number in range(100)]
    async with answering() as port, calls.channel_to(f"127.0.0.1:{port}") as channel:
        assert await asyncio.gather(*(asked(channel, text) for text in texts)) == texts


@pytest.mark.parametrize("length", [0, 16_379, 16_384, 65_535, 5_000_000, 16_700_000])
async def test_messages_of_any_length_go_both_ways(length: int) -> None:
    text = "x" * length
    async with answering() as port, calls.channel_to(f"127.0.0.1:{port}") as channel:
        assert await asked(channel, text) == text


async def test_an_answer_that_is_too_long_is_that_calls_trouble_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MESSAGE_BYTES_MAX", 1000)
    async with answering() as port, calls.channel_to(f"127.0.0.1:{port}") as channel:
        with pytest.raises(CallFailed, match="longer than 1000 bytes") as caught:
            await asked(channel, "x" * 1001)
        assert caught.value.status is Status.RESOURCE_EXHAUSTED
        assert await asked(channel, "short") == "short"


@pytest.mark.parametrize(
    "message", ["no such image", "no\n%41 \N{SNOWMAN} 100%", f"no{'!' * 4000}"]
)
async def test_a_refusal_of_grpcs_own_server_is_read_word_for_word(message: str) -> None:
    async with answering() as port, calls.channel_to(f"127.0.0.1:{port}") as channel:
        with pytest.raises(CallFailed) as caught:
            await asked(channel, message)
    assert (caught.value.status, caught.value.message) == (Status.NOT_FOUND, message)


async def test_a_cancelled_call_ends_at_the_server_too() -> None:
    servicer = Answering()
    async with answering(servicer) as port, calls.channel_to(f"127.0.0.1:{port}") as channel:
        call = asyncio.create_task(asked(channel, "slow"))
        await servicer.is_slow.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(servicer.cancelled.wait(), timeout=10)
        assert await asked(channel, "still here") == "still here"


async def test_a_call_connects_again_after_the_peer_was_restarted() -> None:
    async with answering() as port, calls.channel_to(f"127.0.0.1:{port}") as channel:
        assert await asked(channel, "first") == "first"
    async with calls.channel_to(f"127.0.0.1:{port}") as channel:
        with pytest.raises(CallFailed, match="cannot connect to 127"):
            await asked(channel, "too early")
        async with answering(port=port):
            assert await asked(channel, "second") == "second"
        with pytest.raises(CallFailed) as caught:
            await asked(channel, "gone")
        assert caught.value.status is Status.UNAVAILABLE
        async with answering(port=port):
            assert await asked(channel, "third") == "third"


async def test_calls_of_one_moment_share_a_connection(tmp_path: Path) -> None:
    peer = Peer()
    async with channel_to(peer, tmp_path) as channel:
        together = asyncio.gather(*(version(channel) for _ in range(5)))
        await peer.connections.get()
        together.cancel()
        with pytest.raises(asyncio.CancelledError):
            await together
        assert peer.connections.empty()


async def test_a_peer_that_never_accepts_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(connection, "CONNECT_SECONDS_MAX", 0.05)
    monkeypatch.setattr(asyncio.get_running_loop(), "create_unix_connection", never)
    async with calls.channel_to(f"unix://{tmp_path}/peer.sock") as channel:
        with pytest.raises(CallFailed, match="it accepts no connection") as caught:
            await version(channel)
    assert caught.value.status is Status.UNAVAILABLE


async def test_a_name_that_no_host_can_have_is_unavailable() -> None:
    async with calls.channel_to("a..b:80") as channel:
        with pytest.raises(CallFailed, match=r"cannot connect to a\.\.b:80") as caught:
            await version(channel)
    assert caught.value.status is Status.UNAVAILABLE


@pytest.mark.parametrize("turns", range(6))
async def test_a_channel_that_is_closed_ends_the_calls_that_connect(
    tmp_path: Path, turns: int
) -> None:
    async with channel_to(Peer(), tmp_path) as channel:
        waiting = [asyncio.create_task(version(channel)) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        channel.close()
        for call in waiting:
            with pytest.raises(CallFailed, match="this process closed it"):
                await asyncio.wait_for(call, timeout=5)


@pytest.mark.parametrize("turns", range(1, 8))
async def test_a_call_that_is_cancelled_while_it_connects_ends_no_other_call(turns: int) -> None:
    async with answering() as port, calls.channel_to(f"127.0.0.1:{port}") as channel:
        connecting = asyncio.create_task(asked(channel, "given up"))
        others = [asyncio.create_task(asked(channel, "wanted")) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        connecting.cancel()
        assert await asyncio.wait_for(asyncio.gather(*others), timeout=10) == ["wanted"] * 3


@pytest.mark.parametrize("turns", range(8))
async def test_no_connection_outlives_its_channel(tmp_path: Path, turns: int) -> None:
    """Also not one that was just being opened."""
    open_connections: set[asyncio.StreamWriter] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_connections.add(writer)
        while await reader.read(65536):
            pass
        open_connections.discard(writer)
        writer.close()

    path = tmp_path / "peer.sock"
    async with await asyncio.start_unix_server(accept, path):
        async with calls.channel_to(f"unix://{path}") as channel:
            waiting = [asyncio.create_task(version(channel)) for _ in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
        await asyncio.wait(waiting)
        assert all(isinstance(call.exception(), CallFailed) for call in waiting)
        async with asyncio.timeout(5):
            await asyncio.sleep(0.05)  # until the peer has accepted
            while open_connections:  # noqa: ASYNC110 - the peer reads the end of each by itself
                await asyncio.sleep(0.01)
