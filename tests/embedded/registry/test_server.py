"""What HTTP adds: errors as documents, names that are refused, limits, and who may do what."""

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from lading.embedded.registry import access, server
from lading.embedded.registry.access import AccessGuard, Passwords, TokenGuard
from lading.kernel import manifests

PASSWORDS = Passwords({"carol": "right"})
ABSENT = "sha256:" + "0" * 64


def login(password: str) -> dict[str, str]:
    return {"Authorization": aiohttp.encode_basic_auth("carol", password)}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v2/Upper/manifests/v1", 400, "NAME_INVALID"),
        ("GET", "/v2/a/..%2f..%2fb/manifests/v1", 400, "NAME_INVALID"),
        ("GET", "/v2/a%3Atag/manifests/v1", 400, "NAME_INVALID"),
        ("GET", "/v2/_layers/tags/list", 400, "NAME_INVALID"),
        ("GET", "/v2/app/manifests/-v1", 404, "MANIFEST_UNKNOWN"),
        ("PUT", "/v2/app/manifests/-v1", 400, "TAG_INVALID"),
        ("GET", "/v2/app/manifests/..", 404, "UNSUPPORTED"),
        ("GET", "/v2/app/manifests/sha256:0", 400, "DIGEST_INVALID"),
        ("POST", "/v2/app/blobs/uploads/?mount=" + ABSENT + "&from=../x", 400, "NAME_INVALID"),
        ("PUT", "/v2/app/blobs/" + ABSENT, 405, "UNSUPPORTED"),
        ("GET", "/v1/search", 404, "UNSUPPORTED"),
        ("GET", "/v2/app/referrers/nonsense", 400, "DIGEST_INVALID"),
    ],
)
async def test_what_is_refused_says_why(
    tmp_path: Path,
    session: aiohttp.ClientSession,
    method: str,
    path: str,
    status: int,
    code: str,
) -> None:
    async with server.serve(tmp_path) as url, session.request(method, f"{url}{path}") as answer:
        assert answer.status == status
        assert answer.headers["Docker-Distribution-Api-Version"] == "registry/2.0"
        [error] = (await answer.json())["errors"]
        assert error["code"] == code


async def test_a_manifest_that_is_too_large_is_refused(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    body = io.BytesIO(b" " * (manifests.MANIFEST_BYTES_MAX + 1))
    async with (
        server.serve(tmp_path) as url,
        session.put(f"{url}/v2/app/manifests/v1", data=body) as answer,
    ):
        assert answer.status == 413


async def test_a_registry_with_passwords_refuses_a_request_without_one(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with server.serve(tmp_path, guard=PASSWORDS) as url:
        for headers, status in ((login("right"), 200), (login("wrong"), 401), ({}, 401)):
            async with session.get(f"{url}/v2/", headers=headers) as answer:
                assert answer.status == status


@pytest.mark.parametrize("guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)])
async def test_who_has_no_password_is_refused_before_the_body_comes(
    tmp_path: Path, guard: AccessGuard
) -> None:
    async with server.serve(tmp_path, guard=guard) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        head = "PUT /v2/app/manifests/v1 HTTP/1.1\r\nHost: localhost\r\n"
        writer.write(f"{head}Content-Length: 9999\r\n\r\n".encode())
        assert b" 401 " in await asyncio.wait_for(reader.readline(), 5)
        writer.close()


async def token_for(session: aiohttp.ClientSession, url: str, scope: str) -> dict[str, str]:
    """The headers of a user who logged in for that scope."""
    asked = {"scope": scope, "service": "x"}
    async with session.get(f"{url}/token", params=asked, headers=login("right")) as answer:
        return {"Authorization": f"Bearer {(await answer.json())['token']}"}


async def test_a_token_for_one_repository_does_not_open_another(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with server.serve(tmp_path, guard=TokenGuard(passwords=PASSWORDS)) as url:
        headers = await token_for(session, url, "repository:mine:pull")
        for method, path, status in (
            ("GET", "mine/tags/list", 404),
            ("GET", "other/tags/list", 401),
            ("POST", "mine/blobs/uploads/", 401),
            ("GET", "not%22a%22name/tags/list", 400),
        ):
            async with session.request(method, f"{url}/v2/{path}", headers=headers) as answer:
                assert answer.status == status


async def test_a_blob_is_mounted_only_from_where_the_token_may_read(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    mine = "repository:mine:pull,push"
    path = f"/v2/mine/blobs/uploads/?mount={ABSENT}&from=other"
    async with server.serve(tmp_path, guard=TokenGuard(passwords=PASSWORDS)) as url:
        for scope, status in ((mine, 401), (f"{mine} repository:other:pull", 202)):
            headers = await token_for(session, url, scope)
            async with session.post(f"{url}{path}", headers=headers) as answer:
                assert answer.status == status


async def test_a_token_for_every_action_opens_each_of_them(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """skopeo asks for `*` to find an image and delete it."""
    async with server.serve(tmp_path, guard=TokenGuard(passwords=PASSWORDS)) as url:
        headers = await token_for(session, url, "repository:mine:*")
        for method, path, status in (
            ("GET", "mine/tags/list", 404),
            ("POST", "mine/blobs/uploads/", 202),
            ("DELETE", "mine/manifests/v1", 404),
            ("GET", "other/tags/list", 401),
        ):
            async with session.request(method, f"{url}/v2/{path}", headers=headers) as answer:
                assert answer.status == status


async def test_one_token_too_many_takes_the_place_of_the_oldest_only(
    tmp_path: Path, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "TOKENS_MAX", 2)
    async with server.serve(tmp_path, guard=TokenGuard(passwords=PASSWORDS)) as url:
        tokens = [await token_for(session, url, "") for _ in range(3)]
        for headers, status in zip(tokens, (401, 200, 200), strict=True):
            async with session.get(f"{url}/v2/", headers=headers) as answer:
                assert answer.status == status


async def test_a_token_comes_under_both_names_that_clients_look_for(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """containerd reads the name of OAuth 2 and nothing else."""
    form = {"grant_type": "password", "username": "carol", "password": "right"}
    async with (
        server.serve(tmp_path, guard=TokenGuard(passwords=PASSWORDS)) as url,
        session.post(f"{url}/token", data=form) as answer,
    ):
        given = await answer.json()
        assert given["token"] == given["access_token"]


async def test_the_data_stays_when_the_server_ends(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    async with (
        server.serve(tmp_path) as url,
        session.post(f"{url}/v2/app/blobs/uploads/?digest={digest}", data=b"x") as answer,
    ):
        assert answer.status == 201
    async with server.serve(tmp_path) as url, session.get(f"{url}/v2/app/blobs/{digest}") as answer:
        assert await answer.read() == b"x"
