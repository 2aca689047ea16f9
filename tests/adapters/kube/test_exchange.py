"""The way to a server: TLS in both directions, names, proxies, tokens that rotate, headers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from lading.adapters.kube import errors
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, Impersonation, Trust, User
from lading.adapters.kube.credentials import TOKEN_FILE_SECONDS
from lading.adapters.kube.exchange import NetworkExchange
from lading.adapters.kube.transport import USER_AGENT
from lading.ports import kube
from tests.adapters.kube import stand
from tests.adapters.kube.certificates import Authority
from tests.adapters.kube.stand import CONFIG_MAPS, HurryingClock


async def get_one(connection: Connection, clock: HurryingClock | None = None) -> str:
    async with NetworkExchange(connection, clock or HurryingClock()) as exchange:
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
        async with NetworkExchange(connection, clock) as exchange:
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
        async with NetworkExchange(connection, clock) as exchange:
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
        async with NetworkExchange(connection, HurryingClock()) as exchange:
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
        NetworkExchange(Connection(server=server.url), HurryingClock()) as exchange,
    ):
        client = KubeClient(exchange, on_warning=warnings.append)
        await client.get(CONFIG_MAPS, "one", namespace="default")
    assert warnings == ["v1beta1 is deprecated", 'unknown field "spec.x"']
