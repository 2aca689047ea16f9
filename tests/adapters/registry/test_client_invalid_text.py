"""JSON with strings that are not UTF-8: msgspec raises another error than for other bad JSON."""

import asyncio

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import credentials
from lading.adapters.registry.client import RegistryClient
from lading.kernel import references
from lading.ports import registry
from lading.ports.registry import Credential
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import Received, always, served, whole

APP = "team/app:v1"


async def test_a_list_of_tags(client: RegistryClient) -> None:
    async with served(always(whole(b'{"tags":["\xff"]}'))) as server:
        with pytest.raises(registry.MalformedAnswer, match="not a list of tags"):
            await client.tags(references.parse(f"{server.host}/{APP}"))


async def test_the_words_of_an_error(client: RegistryClient) -> None:
    body = b'{"errors":[{"code":"DENIED","message":"d\xe9fense"}]}'
    async with served(always(whole(body, status="403 Forbidden"))) as server:
        with pytest.raises(registry.Denied, match="DENIED"):
            await client.manifest(references.parse(f"{server.host}/{APP}"))


async def test_a_token() -> None:
    async def confused(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.path.startswith("/token"):
            writer.write(whole(b'{"token":"\xff"}'))
            return
        challenge = f'WWW-Authenticate: Bearer realm="http://{request.headers["host"]}/token"'
        writer.write(whole(b"", challenge, status="401 Unauthorized"))

    async with served(confused) as server:
        table = credentials.Table({server.host: Credential(username="user", password="secret")})
        async with registry_client.connect(
            SystemClock(), credentials=table, limits=hostile.SMALL
        ) as client:
            with pytest.raises(registry.MalformedAnswer, match="not a token answer"):
                await client.manifest(references.parse(f"{server.host}/{APP}"))
