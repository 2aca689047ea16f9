"""What the registry refuses: web pages, blobs that are too large, and more than its quota."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lading.embedded.registry import server, usage
from lading.embedded.registry.usage import FILE_BYTES_MIN, StoreLimits
from lading.kernel import manifests
from tests.e2e import waiting

KIB = 1024
SMALL = StoreLimits(blob_bytes_max=100 * KIB, store_bytes_max=150 * KIB)


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def found(folder: Path, pattern: str) -> list[Path]:
    return list(folder.rglob(pattern))


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


async def push(session: aiohttp.ClientSession, url: str, content: bytes) -> tuple[int, str]:
    """The status, and the code of the error."""
    path = f"{url}/v2/app/blobs/uploads/?digest={digest_of(content)}"
    async with session.post(path, data=content) as answer:
        if answer.status == 201:
            return 201, ""
        [error] = (await answer.json())["errors"]
        return answer.status, error["code"]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "evil.example:5000"}, id="DNS rebinding"),
        pytest.param({"Origin": "http://evil.example"}, id="a page of another site"),
        pytest.param({"Origin": "null"}, id="a sandboxed page"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_a_web_page_is_refused_before_any_handler(
    tmp_path: Path, session: aiohttp.ClientSession, headers: dict[str, str], method: str
) -> None:
    async with server.serve(tmp_path) as url:
        for path in ("/v2/", "/v2/app/blobs/uploads/", "/nowhere"):
            async with session.request(method, f"{url}{path}", headers=headers) as answer:
                assert answer.status == 403
                [error] = (await answer.json())["errors"]
                assert error["code"] == "DENIED"
    assert not found(tmp_path, "_uploads"), "an upload was begun"


async def test_a_blob_over_the_limit_is_refused_and_leaves_nothing(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with server.serve(tmp_path, limits=SMALL) as url:
        assert await push(session, url, b"x" * (100 * KIB + 1)) == (413, "SIZE_INVALID")
        assert await push(session, url, b"x" * 100 * KIB) == (201, "")
    assert not found(tmp_path, "_uploads/*")


async def test_a_blob_in_chunks_without_a_length_meets_the_same_limit(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 10 * KIB

    async with server.serve(tmp_path, limits=SMALL) as url:
        async with session.post(f"{url}/v2/app/blobs/uploads/") as begun:
            location = begun.headers["Location"]
        async with session.patch(f"{url}{location}", data=chunks()) as answer:
            assert answer.status == 413
        async with session.get(f"{url}{location}") as answer:
            assert answer.status == 404, "the upload can never end, so it is thrown away"


async def test_a_full_registry_says_so_and_takes_again_what_fits(
    tmp_path: Path, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "MEASURE_SECONDS_MIN", 0.0)
    first, second = b"a" * 90 * KIB, b"b" * 90 * KIB
    async with server.serve(tmp_path, limits=SMALL) as url:
        assert await push(session, url, first) == (201, "")
        assert await push(session, url, second) == (507, "DENIED")
        (blob,) = found(tmp_path, "blobs/**/data")
        blob.unlink()  # as a garbage collector would
        assert await push(session, url, second) == (201, "")


async def test_the_quota_counts_what_an_earlier_start_stored(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with server.serve(tmp_path, limits=SMALL) as url:
        assert await push(session, url, b"a" * 90 * KIB) == (201, "")
    async with server.serve(tmp_path, limits=SMALL) as url:
        assert await push(session, url, b"b" * 90 * KIB) == (507, "DENIED")


async def test_what_was_cancelled_or_not_verified_takes_no_room(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    content = b"x" * 60 * KIB
    async with server.serve(tmp_path, limits=SMALL) as url:
        for _ in range(5):
            wrong = f"{url}/v2/app/blobs/uploads/?digest={digest_of(b'other')}"
            async with session.post(wrong, data=content) as answer:
                assert answer.status == 400
            async with session.post(f"{url}/v2/app/blobs/uploads/") as begun:
                location = begun.headers["Location"]
            async with session.patch(f"{url}{location}", data=content) as answer:
                assert answer.status == 202
            async with session.delete(f"{url}{location}") as answer:
                assert answer.status == 204
        for _ in range(5):
            assert await push(session, url, content) == (201, ""), "stored once, counted once"


async def test_empty_uploads_and_manifests_are_not_free(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    limits = StoreLimits(store_bytes_max=3 * FILE_BYTES_MIN)
    async with server.serve(tmp_path, limits=limits) as url:
        statuses = []
        for _ in range(4):
            async with session.post(f"{url}/v2/app/blobs/uploads/") as answer:
                statuses.append(answer.status)
        assert statuses == [202, 202, 202, 507]
        index = b'{"schemaVersion":2,"manifests":[]}'
        headers = {"Content-Type": manifests.OCI_INDEX}
        async with session.put(f"{url}/v2/app/manifests/v1", data=index, headers=headers) as answer:
            assert answer.status == 507


async def test_an_upload_cannot_be_cancelled_while_it_is_written(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """The file would be gone and its room given back, while its content stays on the disk."""
    ended, written = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"x" * 60 * KIB
        written.set()
        await ended.wait()

    async with server.serve(tmp_path, limits=SMALL) as url:
        async with session.post(f"{url}/v2/app/blobs/uploads/") as begun:
            location = f"{url}{begun.headers['Location']}"
        appending = asyncio.create_task(status_of(session, "PATCH", location, data=slowly()))
        await written.wait()
        await waiting.until(lambda: has_content(tmp_path), "the content arrives")
        assert await status_of(session, "DELETE", location) == 409
        ended.set()
        assert await appending == 202
        assert await status_of(session, "DELETE", location) == 204


async def has_content(folder: Path) -> bool:
    return any(path.stat().st_size for path in found(folder, "_uploads/*/data"))


async def status_of(session: aiohttp.ClientSession, method: str, url: str, **request: Any) -> int:
    async with session.request(method, url, **request) as answer:
        return answer.status


async def test_blobs_in_many_repositories_are_not_free(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    limits = StoreLimits(store_bytes_max=6 * FILE_BYTES_MIN)
    async with server.serve(tmp_path, limits=limits) as url:
        assert await push(session, url, b"x") == (201, "")
        mount = f"blobs/uploads/?mount={digest_of(b'x')}&from=app"
        statuses = [await status_of(session, "POST", f"{url}/v2/m{n}/{mount}") for n in range(9)]
        again = await status_of(session, "POST", f"{url}/v2/m0/{mount}")
    assert statuses.count(201) < 6
    assert statuses[-1] == 507
    assert again == 201, "what is there already takes no more room"
