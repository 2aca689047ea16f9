"""A registry may say anything: each lie is a typed error, soon, and in little memory."""

import asyncio
import contextlib
import itertools

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.retries import ClientLimits
from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.values import replace
from lading.ports import registry
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import (
    Received,
    always,
    app,
    authenticated,
    head,
    served,
    whole,
)

JSON = "Content-Type: application/vnd.oci.image.manifest.v1+json"
SENT_BYTES_MAX = 64 * 1024 * 1024
"""Far above what sockets and streams buffer, far below endless."""


async def read(client: RegistryClient, host: str, descriptor: Descriptor) -> bytes:
    return b"".join([piece async for piece in client.blob(app(host), descriptor)])


async def test_a_manifest_that_is_not_what_its_digest_says_is_refused(
    client: RegistryClient,
) -> None:
    async with served(always(whole(b'{"schemaVersion":2}', JSON))) as server:
        wanted = app(server.host).at(Digest.of(b"something else"))
        with pytest.raises(registry.DigestMismatch, match="expected sha256"):
            await client.manifest(wanted)


async def test_a_manifest_that_is_not_what_the_header_says_is_refused(
    client: RegistryClient,
) -> None:
    stated = f"Docker-Content-Digest: {Digest.of(b'something else')}"
    async with served(always(whole(b'{"schemaVersion":2}', JSON, stated))) as server:
        with pytest.raises(registry.DigestMismatch):
            await client.manifest(app(server.host))


async def test_a_blob_with_wrong_content_is_refused_before_its_last_piece(
    client: RegistryClient, content: bytes, descriptor: Descriptor
) -> None:
    got: list[bytes] = []

    async def take() -> None:
        async for piece in client.blob(app(server.host), descriptor):
            got.append(piece)  # noqa: PERF401  a comprehension would lose them at the error

    async with served(always(whole(bytes(len(content))))) as server:
        with pytest.raises(registry.DigestMismatch):
            await take()
    assert sum(map(len, got)) < len(content)


async def test_a_blob_that_is_shorter_than_declared_is_refused(
    client: RegistryClient, content: bytes, descriptor: Descriptor
) -> None:
    async with served(always(whole(content[:-1]))) as server:
        with pytest.raises(registry.SizeMismatch, match="ended after 4095 of 4096"):
            await read(client, server.host, descriptor)


async def test_a_blob_that_is_always_cut_off_is_given_up(
    client: RegistryClient, content: bytes, descriptor: Descriptor
) -> None:
    async def cut(request: Received, writer: asyncio.StreamWriter) -> None:
        begin = int(request.headers.get("range", "bytes=0-")[6:-1])
        answered = f"Content-Range: bytes {begin}-{len(content) - 1}/{len(content)}"
        length = f"Content-Length: {len(content) - begin}"
        writer.write(head("206 Partial Content", length, answered) + content[begin : begin + 10])

    async with served(cut) as server:
        with pytest.raises(registry.Unavailable, match="connection lost"):
            await read(client, server.host, descriptor)
        assert len(server.received) == hostile.SMALL.attempts_max


async def test_a_body_without_end_is_cut_at_the_declared_size(
    client: RegistryClient, descriptor: Descriptor
) -> None:
    sent = 0

    async def endless(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(head("200 OK"))
        while sent < SENT_BYTES_MAX:
            writer.write(bytes(65536))
            sent += 65536
            await writer.drain()

    async with served(endless) as server:
        with pytest.raises(registry.SizeMismatch, match="more than the 4096 bytes"):
            await read(client, server.host, descriptor)
    assert sent < SENT_BYTES_MAX


async def test_a_manifest_without_end_is_cut_at_the_limit(client: RegistryClient) -> None:
    sent = 0

    async def endless(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(head("200 OK", JSON))
        while sent < SENT_BYTES_MAX:
            writer.write(b" " * 65536)
            sent += 65536
            await writer.drain()

    async with served(endless) as server:
        with pytest.raises(registry.TooLarge, match=str(manifests.MANIFEST_BYTES_MAX)):
            await client.manifest(app(server.host))
    assert sent < SENT_BYTES_MAX


async def test_a_manifest_that_announces_too_much_is_not_read(client: RegistryClient) -> None:
    async with served(always(head("200 OK", JSON, "Content-Length: 99999999"))) as server:
        with pytest.raises(registry.TooLarge):
            await client.manifest(app(server.host))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"not json", "malformed"),
        (b'{"schemaVersion":1}', "schemaVersion"),
        (b'{"a":' * 20_000, "nested|malformed|truncated"),
        (b"[" * 20_000 + b"]" * 20_000, "nested|Expected"),
        (b"[" * 200_000, "more than 32768 values"),
        (b'{"schemaVersion":2,"layers":[],"manifests":[]}', "both"),
        (b"\xff\xfe\x00", "malformed|utf|invalid"),
    ],
    ids=["no JSON", "schema 1", "deep objects", "deep lists", "many", "two shapes", "no UTF-8"],
)
async def test_something_that_is_no_manifest_is_a_malformed_answer(
    client: RegistryClient, body: bytes, message: str
) -> None:
    async with served(always(whole(body, JSON))) as server:
        with pytest.raises(registry.MalformedAnswer, match=message):
            await client.manifest(app(server.host))


async def test_an_index_of_too_many_entries_is_refused(client: RegistryClient) -> None:
    entry = b'{"mediaType":"a/b","size":1,"digest":"sha256:' + b"0" * 64 + b'"}'
    entries = b",".join([entry] * (manifests.ENTRIES_MAX + 1))
    body = b'{"schemaVersion":2,"manifests":[' + entries + b"]}"
    async with served(always(whole(body, "Content-Type: " + manifests.OCI_INDEX))) as server:
        with pytest.raises(registry.MalformedAnswer, match=str(manifests.ENTRIES_MAX)):
            await client.manifest(app(server.host))


async def test_redirects_in_a_circle_end(client: RegistryClient, descriptor: Descriptor) -> None:
    async def around(request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(b"", f"Location: {request.path}", status="307 Temporary Redirect"))

    async with served(around) as server:
        with pytest.raises(registry.MalformedAnswer, match="redirects"):
            await read(client, server.host, descriptor)
        assert len(server.received) == hostile.SMALL.redirects_max + 1


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "http://[::bad", "ftp://example.test/x", ""]
)
async def test_a_redirect_to_nowhere_is_a_malformed_answer(
    client: RegistryClient, descriptor: Descriptor, location: str
) -> None:
    async with served(always(whole(b"", f"Location: {location}", status="302 Found"))) as server:
        with pytest.raises(registry.MalformedAnswer, match="is not an http or https URL"):
            await read(client, server.host, descriptor)


async def test_a_redirect_to_another_host_carries_no_credential(
    content: bytes, descriptor: Descriptor
) -> None:
    async with served(always(whole(content))) as elsewhere:

        async def registry_like(request: Received, writer: asyncio.StreamWriter) -> None:
            if "authorization" not in request.headers:
                challenge = 'WWW-Authenticate: Basic realm="x"'
                writer.write(whole(b"", challenge, status="401 Unauthorized"))
                return
            location = f"Location: http://{elsewhere.host}/stored"
            writer.write(whole(b"", location, status="307 Temporary Redirect"))

        async with served(registry_like) as server, authenticated(server.host) as client:
            assert await read(client, server.host, descriptor) == content
        [received] = elsewhere.received
        assert "authorization" not in received.headers
        assert "secret" not in str(received)


@pytest.mark.parametrize(
    "when",
    [
        "Mon, 01 Jan 99999999999 00:00:00 GMT",
        "Mon, 01 Jan 2026 00:00:00 +99999999999999",
        "9" * 400,
        "soon",
    ],
)
async def test_a_pause_that_cannot_be_is_none(client: RegistryClient, when: str) -> None:
    busy = whole(b"", f"Retry-After: {when}", status="429 Too Many Requests")
    async with served(always(busy)) as server:
        with pytest.raises(registry.TooManyRequests):
            await client.manifest(app(server.host))


async def test_a_body_that_drips_is_no_progress(content: bytes, descriptor: Descriptor) -> None:
    async def drip(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", f"Content-Length: {len(content)}"))
        for byte in content:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.02)

    limits = replace(hostile.SMALL, window_seconds=0.2, window_bytes_min=1000)
    async with served(drip) as server, limited(limits) as client:
        with pytest.raises(registry.NoProgress, match="too slow"):
            await read(client, server.host, descriptor)


async def test_a_body_that_stops_is_no_progress(content: bytes, descriptor: Descriptor) -> None:
    async def stop(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", f"Content-Length: {len(content)}") + content[:100])
        await writer.drain()
        await asyncio.Event().wait()

    async with (
        served(stop) as server,
        limited(replace(hostile.SMALL, stall_seconds_max=2.0)) as client,
    ):
        with pytest.raises(registry.NoProgress, match="no data for"):
            await read(client, server.host, descriptor)


async def test_headers_that_drip_are_no_answer() -> None:
    async def drip(_request: Received, writer: asyncio.StreamWriter) -> None:
        for byte in head("200 OK", "X-Long: " + "x" * 5000):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.02)

    async with (
        served(drip) as server,
        limited(replace(hostile.SMALL, answer_seconds_max=0.5)) as client,
    ):
        with pytest.raises(registry.Unavailable, match="no answer"):
            await client.manifest(app(server.host))


async def test_something_that_is_not_http_is_a_malformed_answer(client: RegistryClient) -> None:
    async with served(always(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")) as server:
        with pytest.raises(registry.MalformedAnswer, match="does not speak HTTP"):
            await client.manifest(app(server.host))


async def test_a_list_of_tags_without_end_is_too_large() -> None:
    pages = itertools.count()

    async def more(_request: Received, writer: asyncio.StreamWriter) -> None:
        link = f'Link: </v2/team/app/tags/list?last={next(pages)}&n=1>; rel="next"'
        writer.write(whole(b'{"name":"team/app","tags":["a"]}', link))

    limits = ClientLimits(tags_max=20)
    async with (
        served(more) as server,
        registry_client.connect(SystemClock(), limits=limits) as client,
    ):
        with pytest.raises(registry.TooLarge, match="more than 20 tags"):
            await client.tags(app(server.host))


async def test_a_page_of_too_many_tags_is_not_read(client: RegistryClient) -> None:
    count = ClientLimits().tags_max + 1
    body = b'{"tags":[' + b",".join([b'""'] * (count + 1)) + b"]}"
    async with served(always(whole(body))) as server:
        with pytest.raises(registry.TooLarge, match="more than 100000 tags"):
            await client.tags(app(server.host))


async def test_the_next_page_of_tags_is_never_looked_for_elsewhere(client: RegistryClient) -> None:
    async with served(always(whole(b'{"tags":["stolen"]}'))) as elsewhere:

        async def linking(request: Received, writer: asyncio.StreamWriter) -> None:
            if "last=a" in request.path:
                writer.write(whole(b'{"tags":["b"]}'))
                return
            link = f'Link: <http://{elsewhere.host}/v2/x?last=a>; rel="next"'
            writer.write(whole(b'{"tags":["a"]}', link))

        async with served(linking) as server:
            assert await client.tags(app(server.host)) == ("a", "b")
        assert elsewhere.received == []


def limited(limits: ClientLimits) -> contextlib.AbstractAsyncContextManager[RegistryClient]:
    """Impatient in one thing only, so that a busy machine is not taken for another."""
    return registry_client.connect(SystemClock(), limits=limits)
