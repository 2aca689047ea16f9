"""HTTP/1.1 as servers and proxies before them may write it, and answers without an end."""

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from lading.adapters.kube import errors
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, Impersonation, Trust, User
from lading.adapters.kube.credentials import TOKEN_FILE_SECONDS
from lading.adapters.kube.transport import USER_AGENT, NetworkTransport
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.http import Request
from tests.adapters.kube import stand
from tests.adapters.kube.certificates import Authority
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


def network(url: str, user: User | None = None) -> NetworkTransport:
    connection = Connection(server=url, user=user or User())
    return NetworkTransport(connection, HurryingClock())


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


async def get_one(connection: Connection, clock: HurryingClock | None = None) -> str:
    async with NetworkTransport(connection, clock or HurryingClock()) as exchange:
        client = KubeClient(exchange)
        return (await client.get(CONFIG_MAPS, "one", namespace="default")).metadata.name


async def test_a_client_certificate_proves_who_we_are(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, "127.0.0.1")
    async with stand.running(stand.name_of_the_client, tls=context) as server:
        trust = Trust(authority_pem=authority.pem)
        assert await get_one(Connection(server=server.url, trust=trust)) == "anonymous"
        user = User(certificate=authority.issue("node-7"))
        assert await get_one(Connection(server=server.url, trust=trust, user=user)) == "node-7"


@pytest.mark.parametrize(
    ("trusted", "names", "trust", "verdict"),
    [
        (True, ["127.0.0.1"], {}, "one"),
        (False, ["127.0.0.1"], {}, "untrusted"),
        (True, ["api.example"], {}, "untrusted"),
        (True, ["api.example"], {"server_name": "api.example"}, "one"),
        (False, ["api.example"], {"verify": False}, "one"),
    ],
)
async def test_a_server_must_prove_who_it_is(
    tmp_path: Path,
    trusted: bool,
    names: list[str],
    trust: dict[str, bool],
    verdict: str,
) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, *names)
    known = authority if trusted else Authority()
    async with stand.running(stand.config_map(), tls=context) as server:
        connection = Connection(
            server=server.url,
            trust=Trust(authority_pem=known.pem, **trust),  # type: ignore[arg-type]
        )
        if verdict == "untrusted":
            with pytest.raises(
                errors.UntrustedCertificate, match="server certificate is not trusted"
            ):
                await get_one(connection)
        else:
            assert await get_one(connection) == verdict


@contextlib.asynccontextmanager
async def tunnel() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that understands CONNECT, and the targets it was asked for."""
    targets: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(65536):
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        targets.append(head.split()[1].decode())
        host, port = targets[-1].rsplit(":", 1)
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", targets


async def test_a_proxy_carries_the_connection_and_cannot_read_it(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, "127.0.0.1")
    async with stand.running(stand.config_map(), tls=context) as server, tunnel() as (url, targets):
        trust = Trust(authority_pem=authority.pem)
        connection = Connection(server=server.url, trust=trust, proxy_url=url)
        assert await get_one(connection) == "one"
        assert targets == [server.url.removeprefix("https://")]


async def test_a_token_file_is_read_again_now_and_then(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", HurryingClock()
    file.write_text("first\n")
    async with stand.running(stand.config_map()) as server:
        connection = Connection(server=server.url, user=User(token_file=str(file)))
        async with NetworkTransport(connection, clock) as exchange:
            client = KubeClient(exchange)
            await client.get(CONFIG_MAPS, "one", namespace="default")
            file.write_text("second\n")
            await client.get(CONFIG_MAPS, "one", namespace="default")
            clock.advance(TOKEN_FILE_SECONDS)
            await client.get(CONFIG_MAPS, "one", namespace="default")
        assert server.authorizations() == ["Bearer first", "Bearer first", "Bearer second"]


async def test_a_token_file_that_is_just_being_replaced_does_not_take_the_old_token_away(
    tmp_path: Path,
) -> None:
    file, clock = tmp_path / "token", HurryingClock()
    file.write_text("old")
    async with stand.running(stand.config_map()) as server:
        connection = Connection(server=server.url, user=User(token_file=str(file)))
        async with NetworkTransport(connection, clock) as exchange:
            client = KubeClient(exchange)
            await client.get(CONFIG_MAPS, "one", namespace="default")
            clock.advance(TOKEN_FILE_SECONDS)
            file.write_text("")
            await client.get(CONFIG_MAPS, "one", namespace="default")
            file.unlink()
            await client.get(CONFIG_MAPS, "one", namespace="default")
            file.write_text("new")
            await client.get(CONFIG_MAPS, "one", namespace="default")
        assert server.authorizations() == [*["Bearer old"] * 3, "Bearer new"]


async def test_a_refused_token_is_read_again_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def rotate(_request: web.BaseRequest) -> web.Response:
        file.write_text("new")
        return web.Response(status=401)

    async with stand.running(rotate, stand.config_map()) as server:
        connection = Connection(server=server.url, user=User(token_file=str(file)))
        assert await get_one(connection) == "one"
        assert server.authorizations() == ["Bearer old", "Bearer new"]


async def test_a_token_that_stays_refused_is_unauthorized(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("bad")
    async with stand.running(stand.refusal(401, "Unauthorized", "Unauthorized")) as server:
        connection = Connection(server=server.url, user=User(token_file=str(tmp_path / "token")))
        with pytest.raises(kube.Unauthorized):
            await get_one(connection)
        assert len(server.requests) == 2


@pytest.mark.parametrize("content", [None, "", " \n"])
async def test_a_token_file_without_a_token_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    connection = Connection(server="http://127.0.0.1:1", user=User(token_file=str(file)))
    with pytest.raises(errors.CredentialsFailed, match=str(file)):
        await get_one(connection)


async def test_who_asks_and_for_whom_is_in_the_headers() -> None:
    impersonation = Impersonation(
        user="jane", uid="7", groups=("dev", "ops"), extra={"scopes": ("a", "b")}
    )
    user = User(username="me", password="secret", impersonation=impersonation)
    async with stand.running(stand.config_map()) as server:
        await get_one(Connection(server=server.url, user=user, compression=False))
        headers = server.requests[0].headers
    assert headers["user-agent"] == USER_AGENT
    assert headers["authorization"] == "Basic bWU6c2VjcmV0"
    assert headers["impersonate-user"] == "jane"
    assert headers["impersonate-uid"] == "7"
    assert headers.getall("impersonate-group") == ["dev", "ops"]
    assert headers.getall("impersonate-extra-scopes") == ["a", "b"]
    assert headers["accept-encoding"] == "identity"


async def test_a_path_prefix_of_the_server_is_kept_and_queries_are_escaped() -> None:
    async with stand.running(stand.answer({"metadata": {}, "items": None})) as server:
        connection = Connection(server=f"{server.url}/k8s/clusters/c-1")
        async with NetworkTransport(connection, HurryingClock()) as exchange:
            selection = kube.Selection(label_selector="a in (x,y),b!=c+d&e")
            page = await KubeClient(exchange).page(CONFIG_MAPS, selection)
    assert page.items == ()
    assert server.requests[0].path == "/k8s/clusters/c-1/api/v1/configmaps"
    assert server.requests[0].rel_url.query["labelSelector"] == "a in (x,y),b!=c+d&e"


async def test_warnings_of_the_server_reach_the_caller() -> None:
    header = '299 - "v1beta1 is deprecated", 299 - "unknown field \\"spec.x\\""'
    warnings: list[str] = []
    answer = stand.answer({"metadata": {"name": "one"}}, headers={"Warning": header})
    async with (
        stand.running(answer) as server,
        NetworkTransport(Connection(server=server.url), HurryingClock()) as exchange,
    ):
        client = KubeClient(exchange, on_warning=warnings.append)
        await client.get(CONFIG_MAPS, "one", namespace="default")
    assert warnings == ["v1beta1 is deprecated", 'unknown field "spec.x"']
