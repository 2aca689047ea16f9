"""The client on the embedded registry: push, ask, pull, resume, list."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.endpoints import DirectRouting
from lading.adapters.registry.retries import ClientLimits
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.kernel import manifests, references
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor, ImageManifest, Index
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry
from lading.ports.registry import Manifest
from tests.adapters.registry.hostile import Received, always, head, served, whole

IMAGE = sample_images.image([{"a": b"b"}])


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Reference]:
    async with server.serve(tmp_path) as url:
        yield references.parse(f"{url.removeprefix('http://')}/team/app:v1")


async def one_piece(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def test_a_pushed_image_comes_back_whole(client: RegistryClient, app: Reference) -> None:
    amd64 = sample_images.image([{"bin/entry": b"amd64" * 1000}])
    sample = sample_images.index([amd64])
    by_digest = await sample_images.push(client, app, sample)
    for reference in (app, by_digest):
        assert await client.manifest(reference) == sample.manifest
    index = manifests.parse(sample.manifest.content)
    assert isinstance(index, Index)
    image = manifests.parse((await client.manifest(app.at(amd64.digest))).content)
    assert isinstance(image, ImageManifest)
    for descriptor, content in amd64.blobs:
        assert b"".join([piece async for piece in client.blob(app, descriptor)]) == content


async def test_a_registry_that_compresses_for_clients_that_accept_it_is_understood(
    client: RegistryClient,
) -> None:
    """Proxies and storage behind a redirect do that to manifests, tokens and configurations."""
    config, content = IMAGE.blobs[0]

    async def compressing(request: Received, writer: asyncio.StreamWriter) -> None:
        if "/blobs/" in request.path and "storage" not in request.path:
            # Another name is another origin, to which only harmless headers go.
            elsewhere = (
                f"http://localhost:{compressor.host.rpartition(':')[2]}/storage{request.path}"
            )
            writer.write(whole(b"", f"Location: {elsewhere}", status="307 Temporary Redirect"))
            return
        body = content if "/blobs/" in request.path else IMAGE.manifest.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            writer.write(whole(gzip.compress(body), "Content-Encoding: gzip"))
        else:
            writer.write(whole(body, f"Content-Type: {IMAGE.manifest.media_type}"))

    async with served(compressing) as compressor:
        app = references.parse(f"{compressor.host}/team/app:v1")
        assert await client.manifest(app) == IMAGE.manifest
        assert b"".join([piece async for piece in client.blob(app, config)]) == content


async def test_head_tells_what_a_tag_names(client: RegistryClient, app: Reference) -> None:
    sample = sample_images.image([{"a": b"b"}])
    await sample_images.push(client, app, sample)
    assert await client.head(app) == replace(sample.descriptor, platform=None)


async def test_head_of_what_is_not_there_is_none(client: RegistryClient, app: Reference) -> None:
    assert await client.head(app) is None


async def test_a_manifest_that_is_not_there_is_not_found(
    client: RegistryClient, app: Reference
) -> None:
    with pytest.raises(registry.NotFound, match=r"team/app:v1.*MANIFEST_UNKNOWN"):
        await client.manifest(app)


async def test_a_blob_is_read_from_an_offset(
    client: RegistryClient, app: Reference, content: bytes, descriptor: Descriptor
) -> None:
    await client.push_blob(app, descriptor, one_piece(content))
    rest = [piece async for piece in client.blob(app, descriptor, offset=1000)]
    assert b"".join(rest) == content[1000:]


async def test_a_blob_that_is_there_is_not_read_from_its_source_again(
    client: RegistryClient, app: Reference, content: bytes, descriptor: Descriptor
) -> None:
    await client.push_blob(app, descriptor, one_piece(content))
    untouched = one_piece(content)
    await client.push_blob(app, descriptor, untouched)
    assert await anext(untouched) == content


async def test_pushing_content_with_a_wrong_digest_is_refused(
    client: RegistryClient, app: Reference, content: bytes, descriptor: Descriptor
) -> None:
    wrong = replace(descriptor, digest=Digest.of(b"something else"))
    with pytest.raises(registry.RegistryError, match="DIGEST_INVALID"):
        await client.push_blob(app, wrong, one_piece(content))


async def test_all_pages_of_tags_are_read(
    client: RegistryClient, app: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lading.adapters.registry.retries.TAGS_PAGE_NAMES", 2)
    sample = sample_images.image([{"a": b"b"}])
    names = ("a", "b", "c", "d", "e")
    for tag in names:
        await sample_images.push(client, replace(app, tag=tag), sample)
    assert await client.tags(app) == names


async def test_a_reference_without_a_registry_is_refused(client: RegistryClient) -> None:
    with pytest.raises(registry.RegistryError, match="names no registry"):
        await client.manifest(references.parse("team/app:v1"))


async def test_a_reference_without_tag_and_digest_is_refused(
    client: RegistryClient, app: Reference
) -> None:
    with pytest.raises(registry.RegistryError, match="neither tag nor digest"):
        await client.manifest(replace(app, tag=None))


async def test_a_sha512_digest_is_verified_and_kept(client: RegistryClient, app: Reference) -> None:
    sample = sample_images.image([{"a": b"b"}])
    await sample_images.push(client, app, sample)
    digest = Digest.of(sample.manifest.content, "sha512")
    same = Manifest(
        media_type=sample.manifest.media_type, digest=digest, content=sample.manifest.content
    )
    await client.push_manifest(app.at(digest), same)
    assert await client.manifest(app.at(digest)) == same


async def test_a_registry_that_does_not_run_is_unavailable() -> None:
    limits = ClientLimits(attempts_max=1)
    async with registry_client.connect(SystemClock(), limits=limits) as client:
        with pytest.raises(
            registry.Unavailable, match=r"cannot connect to \S+:\d+: Connection refused$"
        ):
            await client.manifest(references.parse("127.0.0.1:1/a:b"))


async def test_no_more_connections_than_allowed_are_open_to_one_host() -> None:
    open_now, most = 0, 0
    answer = whole(IMAGE.manifest.content, f"Content-Type: {IMAGE.manifest.media_type}")

    async def counting(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.01)
        open_now -= 1
        writer.write(answer)

    limits = ClientLimits(connections_per_host_max=3)
    async with (
        served(counting) as many,
        registry_client.connect(SystemClock(), limits=limits) as client,
    ):
        wanted = references.parse(f"{many.host}/app:v1")
        await asyncio.gather(*(client.manifest(wanted) for _ in range(20)))
    assert 1 < most <= 3


async def test_waiting_for_other_downloads_is_not_waiting_for_an_answer(
    content: bytes, descriptor: Descriptor
) -> None:
    go_on = asyncio.Event()

    async def slow(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", f"Content-Length: {len(content)}") + content[:-1])
        await go_on.wait()
        writer.write(content[-1:])

    async def read(host: str) -> bytes:
        wanted = references.parse(f"{host}/app:v1")
        return b"".join([piece async for piece in client.blob(wanted, descriptor)])

    limits = ClientLimits(downloads_per_host_max=1, answer_seconds_max=4.0, attempts_max=1)
    async with (
        served(slow) as busy,
        registry_client.connect(SystemClock(), limits=limits) as client,
        asyncio.TaskGroup() as group,
    ):
        reading = [group.create_task(read(busy.host)) for _ in range(2)]
        ended, _ = await asyncio.wait(reading, timeout=1.5 * limits.answer_seconds_max)
        assert not ended
        go_on.set()
    assert [task.result() for task in reading] == [content, content]


async def test_a_proxy_of_the_environment_is_used_except_for_this_machine(app: Reference) -> None:
    answer = whole(IMAGE.manifest.content, f"Content-Type: {IMAGE.manifest.media_type}")
    routing = DirectRouting(frozenset({"registry.test"}))
    async with served(always(answer)) as proxy:
        environment = {"HTTP_PROXY": f"http://{proxy.host}"}
        async with registry_client.connect(
            SystemClock(), routing=routing, environment=environment
        ) as client:
            found = await client.manifest(references.parse("registry.test/app:v1"))
            assert await client.head(app) is None
    assert found == IMAGE.manifest
    assert [each.path for each in proxy.received] == ["http://registry.test/v2/app/manifests/v1"]
