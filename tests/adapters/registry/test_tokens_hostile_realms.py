"""A registry that wants a token may send us anywhere, and the server there may answer anything."""

import asyncio

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import credentials
from lading.ports import registry
from lading.ports.registry import Credential
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import Received, always, app, authenticated, served, whole

JSON = "Content-Type: application/vnd.oci.image.manifest.v1+json"


@pytest.mark.parametrize(
    "challenge",
    ['Basic realm="x"', 'Bearer realm="http://{host}/token",service="s"'],
    ids=["basic", "bearer"],
)
async def test_a_registry_that_never_accepts_ends_as_unauthorized(challenge: str) -> None:
    async def never(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.path.startswith("/token"):
            writer.write(whole(b'{"token":"t"}'))
            return
        wanted = challenge.replace("{host}", request.headers["host"])
        writer.write(whole(b"", f"WWW-Authenticate: {wanted}", status="401 Unauthorized"))

    async with served(never) as server, authenticated(server.host) as client:
        with pytest.raises(registry.Unauthorized):
            await client.manifest(app(server.host))
        assert len(server.received) <= 4


@pytest.mark.parametrize("realm", ["file:///etc/passwd", "not a url", "http://", ""])
async def test_a_token_realm_that_is_no_place_to_go_is_a_malformed_answer(realm: str) -> None:
    challenge = f'WWW-Authenticate: Bearer realm="{realm}"'
    async with (
        served(always(whole(b"", challenge, status="401 Unauthorized"))) as server,
        authenticated(server.host) as client,
    ):
        with pytest.raises(registry.MalformedAnswer, match="realm"):
            await client.manifest(app(server.host))


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b'{"token":"a\\r\\nb"}', b'{"token":5}', b"{" * 9999]
)
async def test_a_token_that_cannot_be_sent_is_a_malformed_answer(answer: bytes) -> None:
    async def confused(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.path.startswith("/token"):
            writer.write(whole(answer))
            return
        challenge = f'WWW-Authenticate: Bearer realm="http://{request.headers["host"]}/token"'
        writer.write(whole(b"", challenge, status="401 Unauthorized"))

    async with served(confused) as server, authenticated(server.host) as client:
        with pytest.raises(registry.MalformedAnswer, match="token"):
            await client.manifest(app(server.host))


@pytest.mark.parametrize("status", ["403 Forbidden", "404 Not Found", "405 Method Not Allowed"])
async def test_a_realm_that_gives_no_token_says_nothing_about_the_image(status: str) -> None:
    async def lost(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.path.startswith("/token"):
            writer.write(whole(b"", status=status))
            return
        challenge = f'WWW-Authenticate: Bearer realm="http://{request.headers["host"]}/token"'
        writer.write(whole(b"", challenge, status="401 Unauthorized"))

    async with served(lost) as server, authenticated(server.host) as client:
        with pytest.raises(registry.Unauthorized, match=f"token from 127.0.0.1.*{status[:3]}"):
            await client.head(app(server.host))


@pytest.mark.parametrize("empty", [b"{}", b'{"token":""}', b'{"access_token":"","expires_in":60}'])
async def test_an_empty_token_means_that_the_next_credential_is_tried(empty: bytes) -> None:
    async def picky(request: Received, writer: asyncio.StreamWriter) -> None:
        second = request.headers.get("authorization") == "Basic dXNlcjpzZWNyZXQ="
        if request.path.startswith("/token"):
            writer.write(whole(b'{"token":"good"}' if second else empty))
        elif request.headers.get("authorization") == "Bearer good":
            writer.write(whole(b'{"schemaVersion":2,"layers":[]}', JSON))
        else:
            realm = f"http://{request.headers['host']}/token"
            challenge = f'WWW-Authenticate: Bearer realm="{realm}"'
            writer.write(whole(b"", challenge, status="401 Unauthorized"))

    async with served(picky) as server:
        first = Credential(username="nobody", password="at all")
        by_host = Credential(username="user", password="secret")
        table = credentials.Table({f"{server.host}/team": first, server.host: by_host})
        async with registry_client.connect(
            SystemClock(), credentials=table, limits=hostile.SMALL
        ) as client:
            found = await client.manifest(app(server.host))
    assert found.content == b'{"schemaVersion":2,"layers":[]}'
