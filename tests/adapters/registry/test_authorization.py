"""Who we are to a registry: passwords, tokens and their cache, refusals, several credentials."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.credentials import Chain, CredentialSource, Table
from lading.adapters.registry.endpoints import Endpoint
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.embedded.registry.access import AccessGuard, Passwords, TokenGuard
from lading.kernel import references
from lading.kernel.references import Reference
from lading.ports import registry
from lading.ports.registry import Credential
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import always, served, whole

PASSWORDS = Passwords({"carol": "right"})
RIGHT = Credential(username="carol", password="right")
WRONG = Credential(username="carol", password="wrong")
IMAGE = sample_images.image([{"a": b"b"}])


@contextlib.asynccontextmanager
async def opened(
    folder: Path, guard: AccessGuard, *credentials: Mapping[str, Credential]
) -> AsyncIterator[tuple[RegistryClient, Reference]]:
    """A registry with a guard, and a client with tables that are keyed below its host."""
    async with server.serve(folder, guard=guard) as url:
        host = url.removeprefix("http://")
        tables: list[CredentialSource] = [
            Table({f"{host}{path}": credential for path, credential in table.items()})
            for table in credentials
        ]
        async with registry_client.connect(
            SystemClock(), credentials=Chain(tables), limits=hostile.SMALL
        ) as client:
            yield client, references.parse(f"{host}/team/app:v1")


@pytest.mark.parametrize(
    "guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)], ids=["basic", "bearer"]
)
async def test_the_right_credential_pushes_and_pulls(tmp_path: Path, guard: AccessGuard) -> None:
    async with opened(tmp_path, guard, {"": RIGHT}) as (client, app):
        await sample_images.push(client, app, IMAGE)
        assert await client.manifest(app) == IMAGE.manifest


@pytest.mark.parametrize(
    "guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)], ids=["basic", "bearer"]
)
async def test_the_wrong_credential_is_unauthorized(tmp_path: Path, guard: AccessGuard) -> None:
    async with opened(tmp_path, guard, {"": WRONG}) as (client, app):
        with pytest.raises(
            registry.Unauthorized, match="accepts none of the credentials"
        ) as caught:
            await client.manifest(app)
    assert "wrong" not in str(caught.value)


async def test_the_longest_prefix_is_used_first(tmp_path: Path) -> None:
    table = {"": WRONG, "/team": RIGHT, "/team-of-others": WRONG}
    async with opened(tmp_path, PASSWORDS, table) as (client, app):
        await sample_images.push(client, app, IMAGE)


async def test_a_second_credential_is_tried_when_the_first_is_refused(tmp_path: Path) -> None:
    guard = TokenGuard(passwords=PASSWORDS)
    async with opened(tmp_path, guard, {"": WRONG}, {"": RIGHT}) as (client, app):
        await sample_images.push(client, app, IMAGE)


async def test_an_identity_token_is_exchanged_for_access(tmp_path: Path) -> None:
    identity = Credential(identity_token="carol:right")
    async with opened(tmp_path, TokenGuard(passwords=PASSWORDS), {"": identity}) as (client, app):
        await sample_images.push(client, app, IMAGE)


async def test_a_token_is_fetched_once_for_each_scope(tmp_path: Path) -> None:
    guard = TokenGuard(passwords=PASSWORDS)
    async with opened(tmp_path, guard, {"": RIGHT}) as (client, app):
        await sample_images.push(client, app, IMAGE)
        for _ in range(5):
            await client.manifest(app)
        assert len(guard._grants) == 2


async def test_a_token_that_is_no_longer_accepted_is_replaced(tmp_path: Path) -> None:
    guard = TokenGuard(passwords=PASSWORDS)
    async with opened(tmp_path, guard, {"": RIGHT}) as (client, app):
        await sample_images.push(client, app, IMAGE)
        guard._grants.clear()
        assert await client.manifest(app) == IMAGE.manifest


async def test_a_token_that_has_expired_is_replaced_before_it_is_refused(tmp_path: Path) -> None:
    guard = TokenGuard(passwords=PASSWORDS, seconds=1)
    async with opened(tmp_path, guard, {"": RIGHT}) as (client, app):
        await sample_images.push(client, app, IMAGE)
        await client.manifest(app)
        before = len(guard._grants)
        await client.manifest(app)
        assert len(guard._grants) == before + 1


class Rotating:
    """A source with a credential that is right only after a call to forget the old one."""

    def __init__(self) -> None:
        self.current = WRONG
        self.asked = 0

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        self.asked += 1
        return (self.current,)

    def forget(self, endpoint: Endpoint) -> bool:
        self.current = RIGHT
        return True


@pytest.mark.parametrize(
    "guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)], ids=["basic", "bearer"]
)
async def test_a_refused_credential_is_asked_for_again_once(
    tmp_path: Path, guard: AccessGuard
) -> None:
    source = Rotating()
    async with (
        server.serve(tmp_path, guard=guard) as url,
        registry_client.connect(SystemClock(), credentials=source) as client,
    ):
        app = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
        assert await client.head(app) is None
        assert source.asked == 2


async def test_callers_that_come_at_once_share_one_token(tmp_path: Path) -> None:
    guard = TokenGuard(passwords=PASSWORDS)
    async with opened(tmp_path, guard, {"": RIGHT}) as (client, app):
        await asyncio.gather(*(client.head(app) for _ in range(20)))
        assert len(guard._grants) == 1


async def test_a_credential_that_came_with_the_request_replaces_the_configured_ones(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, PASSWORDS, {"": WRONG}) as (client, app):
        await sample_images.push(client.with_credential(RIGHT), app, IMAGE)
        with pytest.raises(registry.Unauthorized):
            await client.manifest(app)


async def test_what_one_caller_may_see_is_not_shown_to_another(tmp_path: Path) -> None:
    async with opened(tmp_path, TokenGuard(passwords=PASSWORDS), {"": WRONG}) as (client, app):
        await sample_images.push(client.with_credential(RIGHT), app, IMAGE)
        with pytest.raises(registry.Unauthorized):
            await client.with_credential(WRONG).manifest(app)


async def test_a_credential_is_not_sent_to_a_registry_that_does_not_ask(tmp_path: Path) -> None:
    answer = whole(IMAGE.manifest.content, f"Content-Type: {IMAGE.manifest.media_type}")
    async with served(always(answer)) as plain:
        table = Table({plain.host: RIGHT})
        async with registry_client.connect(SystemClock(), credentials=table) as client:
            await client.manifest(references.parse(f"{plain.host}/app:v1"))
        assert "authorization" not in plain.received[0].headers


async def test_a_credential_is_not_sent_to_another_registry(tmp_path: Path) -> None:
    challenge = whole(b"", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized")
    async with (
        served(always(challenge)) as other,
        opened(tmp_path, PASSWORDS, {"": RIGHT}) as (client, _app),
    ):
        with pytest.raises(registry.Unauthorized):
            await client.manifest(references.parse(f"{other.host}/team/app:v1"))
        assert all("authorization" not in received.headers for received in other.received)


def test_a_credential_does_not_show_its_secrets() -> None:
    secret = Credential(
        username="carol", password="one", identity_token="two", registry_token="three"
    )
    assert repr(secret) == "Credential(username='carol', server_address='')"
