"""The server behind its socket: TLS by its own CA, large bodies, watches that are let go."""

import asyncio
import io
import logging
import pathlib
import ssl
from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest

from lading.embedded.kube import bodies, certificates, http
from tests.embedded.kube.cluster import CONFIG_MAPS, TOKEN, Cluster, config_map


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    cluster = Cluster()
    yield cluster
    await cluster.core.close()


@pytest.fixture
async def session(cluster: Cluster, tmp_path: pathlib.Path) -> AsyncIterator[aiohttp.ClientSession]:
    found = certificates.ensure(tmp_path)
    trust = ssl.create_default_context(cafile=found.authority)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        http.serve(cluster.core, tls=found) as url,
        aiohttp.ClientSession(
            url, headers=headers, connector=aiohttp.TCPConnector(ssl=trust)
        ) as session,
    ):
        yield session
        await cluster.core.close()


async def test_the_certificate_is_trusted_through_the_ca(session: aiohttp.ClientSession) -> None:
    async with session.get("/version") as response:
        assert response.status == 200
        assert (await response.json())["gitVersion"].startswith("v1.")


async def test_a_query_reaches_the_core(session: aiohttp.ClientSession) -> None:
    query = {"fieldSelector": "metadata.name=kube-system"}
    async with session.get("/api/v1/namespaces", params=query) as response:
        names = [each["metadata"]["name"] for each in (await response.json())["items"]]
    assert names == ["kube-system"]


async def test_a_body_over_the_limit_is_refused(session: aiohttp.ClientSession) -> None:
    body = msgspec.json.encode({"data": {"a": "x" * bodies.BODY_BYTES_MAX}})
    async with session.post(CONFIG_MAPS, data=io.BytesIO(body)) as response:
        assert response.status == 413
        assert (await response.json())["reason"] == "RequestEntityTooLarge"


async def test_a_body_that_is_called_packed_is_read_as_it_is(
    session: aiohttp.ClientSession,
) -> None:
    body = msgspec.json.encode(config_map("a"))
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with session.post(CONFIG_MAPS, data=io.BytesIO(body), headers=headers) as response:
        assert response.status == 201


async def test_a_header_may_stand_more_than_once(session: aiohttp.ClientSession) -> None:
    headers = [
        ("Impersonate-User", "ann"),
        ("Impersonate-Group", "staff"),
        ("Impersonate-Group", "guests"),
    ]
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with session.post(path, json={}, headers=headers) as response:
        user = (await response.json())["status"]["userInfo"]
    assert user["groups"] == ["staff", "guests", "system:authenticated"]


async def test_of_an_option_that_stands_twice_the_first_counts(
    session: aiohttp.ClientSession,
) -> None:
    query = [
        ("fieldSelector", "metadata.name=default"),
        ("fieldSelector", "metadata.name=kube-system"),
    ]
    async with session.get("/api/v1/namespaces", params=query) as response:
        names = [each["metadata"]["name"] for each in (await response.json())["items"]]
    assert names == ["default"]


async def test_a_token_that_is_no_text_is_a_wrong_token(cluster: Cluster) -> None:
    async with http.serve(cluster.core) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET /apis HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\n\r\n")
        assert b" 401 " in await asyncio.wait_for(reader.readline(), 5)
        writer.close()


async def test_a_request_without_a_token_is_refused_before_its_body_comes(
    cluster: Cluster,
) -> None:
    async with http.serve(cluster.core) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        head = b"POST /apis HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
        writer.write(head)
        assert b" 401 " in await asyncio.wait_for(reader.readline(), 5)
        writer.close()


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_failure_of_the_server(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with http.serve(cluster.core) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        head = f"POST /apis HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        writer.write(f"{head}Content-Length: 99\r\n\r\nbegun".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        async with aiohttp.ClientSession(url) as session, session.get("/livez") as response:
            assert response.status == 200
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_a_watch_streams_until_the_client_leaves(
    session: aiohttp.ClientSession, cluster: Cluster
) -> None:
    async with session.get(CONFIG_MAPS, params={"watch": "1"}) as response:
        created = await cluster.create(CONFIG_MAPS, config_map("a"))
        event = msgspec.json.decode(await asyncio.wait_for(response.content.readline(), 5))
    assert (event["type"], event["object"]["metadata"]) == ("ADDED", created["metadata"])
    async with session.get("/livez") as response:
        assert response.status == 200
