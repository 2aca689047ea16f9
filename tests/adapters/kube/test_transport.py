"""HTTP/1.1 as servers and proxies before them may write it, and answers without an end."""

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, Impersonation, User
from lading.adapters.kube.exchange import NetworkExchange
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.http import Request
from tests.adapters.kube.stand import CONFIG_MAPS, HurryingClock

BODY = b'{"metadata":{"name":"one"}}'
GET = Request(method="GET", path="/api/v1/namespaces/default/configmaps/one")
POST = Request(method="POST", path="/api/v1/namespaces/default/configmaps", body=b"{}")


class Final(bytes):
    """After this answer, the server closes the connection."""


def whole(body: bytes, *headers: bytes) -> bytes:
    lines = (b"HTTP/1.1 200 OK", *headers, b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def in_chunks(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + end


@dataclass(slots=True)
class RawServer:
    answers: list[bytes]
    """One for each request, over all connections."""
    asked: list[bytes] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(2 if b"content-length: 2" in head else 0)
                self.asked.append(head)
                answer = self.answers.pop(0)
                writer.write(answer)
                await writer.drain()
                if isinstance(answer, Final):
                    break
        writer.close()


@contextlib.asynccontextmanager
async def raw(*answers: bytes) -> AsyncIterator[RawServer]:
    one = RawServer(answers=list(answers))
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    async with server:
        one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield one


def network(url: str, user: User | None = None) -> NetworkExchange:
    connection = Connection(server=url, user=user or User())
    return NetworkExchange(connection, HurryingClock())


@pytest.mark.parametrize(
    "answer",
    [
        whole(BODY),
        in_chunks(BODY),
        in_chunks(*(bytes((one,)) for one in BODY)),
        in_chunks(BODY, end=b"0\r\nExpires: never\r\n\r\n"),
        in_chunks(BODY).replace(b"1b\r\n", b"1B;name=value\r\n"),
        whole(gzip.compress(BODY), b"Content-Encoding: gzip"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + whole(BODY),
        Final(b"HTTP/1.0 200 OK\r\n\r\n" + BODY),
        Final(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY),
    ],
    ids=[
        "with a length",
        "in one chunk",
        "in small chunks",
        "with a trailer",
        "with a chunk extension",
        "packed",
        "after an interim answer",
        "of HTTP/1.0, up to the end",
        "up to the end",
    ],
)
async def test_a_body_is_read_in_every_form(answer: bytes) -> None:
    async with raw(answer) as server, network(server.url) as exchange:
        response = await exchange(GET)
    assert (response.status, response.body) == (200, BODY)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 2xx OK\r\n\r\n",
        whole(BODY)[:-5],
        in_chunks(BODY)[:-9],
        in_chunks(BODY, end=b""),
        in_chunks(BODY).replace(b"1b\r\n", b"many\r\n"),
        whole(BODY, b"Content-Encoding: gzip"),
        b"HTTP/1.1 200 OK\r\nContent-Length: some\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
    ids=[
        "nothing",
        "another protocol",
        "no status",
        "a body cut off",
        "a chunk cut off",
        "no last chunk",
        "no chunk size",
        "not packed",
        "no length",
        "a negative length",
        "endless headers",
    ],
)
async def test_an_answer_that_cannot_be_read_is_unavailable(answer: bytes) -> None:
    async with raw(Final(answer)) as server, network(server.url) as exchange:
        with pytest.raises(kube.Unavailable, match=f"^GET {GET.path} at {server.url}: "):
            await exchange(GET)


async def test_a_connection_is_used_again() -> None:
    async with raw(whole(BODY), in_chunks(BODY), whole(BODY)) as server:
        async with network(server.url) as exchange:
            for _ in range(3):
                assert (await exchange(GET)).body == BODY
        assert server.connections == 1


async def test_an_answer_without_a_body_keeps_the_connection() -> None:
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    async with raw(empty, whole(BODY)) as server, network(server.url) as exchange:
        assert (await exchange(GET)).status == 204
        assert (await exchange(GET)).body == BODY
        assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    async with raw(*[whole(BODY)] * 5) as server, network(server.url) as exchange:
        answers = await asyncio.gather(*(exchange(GET) for _ in range(5)))
        assert [one.body for one in answers] == [BODY] * 5
        assert server.connections == 5


async def test_a_read_is_repeated_when_the_kept_connection_is_closed() -> None:
    async with raw(whole(BODY), Final(b""), whole(BODY)) as server:
        async with network(server.url) as exchange:
            await exchange(GET)
            assert (await exchange(GET)).body == BODY
        assert len(server.asked) == 3


async def test_a_write_is_not_repeated_when_the_kept_connection_is_closed() -> None:
    async with raw(whole(BODY), Final(b""), whole(BODY)) as server:
        async with network(server.url) as exchange:
            await exchange(GET)
            with pytest.raises(kube.Unavailable, match="Server disconnected"):
                await exchange(POST)
        assert len(server.asked) == 2


async def test_a_connection_that_the_server_has_closed_is_not_used() -> None:
    async with raw(Final(whole(BODY)), whole(BODY)) as server:
        async with network(server.url) as exchange:
            await exchange(GET)
            await asyncio.sleep(0.05)
            assert (await exchange(POST)).body == BODY
        assert len(server.asked) == 2


async def test_a_header_cannot_hold_a_second_one() -> None:
    user = User(impersonation=Impersonation(user="jane\r\nauthorization: x"))
    async with raw(whole(BODY)) as server, network(server.url, user) as exchange:
        with pytest.raises(kube.Unavailable, match="header injection"):
            await exchange(GET)
        assert server.asked == []


async def test_a_path_cannot_leave_its_line() -> None:
    async with raw(whole(BODY)) as server, network(server.url) as exchange:
        await exchange(replace(GET, path="/api/a b\r\nx: y?z", query=(("q", "ä&b"),)))
        assert server.asked[0].startswith(b"GET /api/a%20b%0D%0Ax:%20y%3Fz?q=%C3%A4%26b HTTP/1.1")


async def test_a_watch_ends_with_its_last_chunk() -> None:
    event = b'{"type":"ADDED","object":{"metadata":{"name":"one","resourceVersion":"1"}}}\n'
    async with raw(in_chunks(event[:10], event[10:])) as server, network(server.url) as exchange:
        watch = KubeClient(exchange).watch(CONFIG_MAPS, timeout_seconds=60)
        assert [one.object.metadata.name async for one in watch] == ["one"]
