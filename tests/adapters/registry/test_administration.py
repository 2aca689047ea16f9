"""The requests of the pruner, on the embedded registry and on registries that misbehave."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lading.adapters.registry.administration import AdministrationClient
from lading.adapters.registry.client import RegistryClient
from lading.embedded.registry import server
from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry
from lading.ports.registry import Manifest
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import Received


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[str]:
    async with server.serve(tmp_path) as url:
        yield url.partition("://")[2]


@pytest.fixture
def admin(client: RegistryClient) -> AdministrationClient:
    return AdministrationClient(client)


def at(
    host: str, repository: str, tag: str | None = None, digest: Digest | None = None
) -> Reference:
    return Reference(registry=host, repository=repository, tag=tag, digest=digest)


def descriptor_of(found: Descriptor, media_type: str = "") -> dict[str, object]:
    return {
        "mediaType": media_type or found.media_type,
        "digest": str(found.digest),
        "size": found.size_bytes,
    }


async def pushed(
    admin: AdministrationClient, target: Reference, *, subject: Descriptor | None = None
) -> Manifest:
    config = await admin.push_blob(target, b"{}")
    layer = await admin.push_blob(target, b"layer of " + str(subject).encode())
    document: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": manifests.OCI_MANIFEST,
        "config": descriptor_of(config, manifests.OCI_CONFIG),
        "layers": [descriptor_of(layer, manifests.OCI_LAYER_GZIP)],
    }
    if subject is not None:
        document["subject"] = descriptor_of(subject)
    content = json.dumps(document).encode()
    manifest = Manifest(
        media_type=manifests.OCI_MANIFEST, digest=Digest.of(content), content=content
    )
    await admin.push_manifest(target, manifest)
    return manifest


async def test_repositories_and_tags_are_listed_and_deleted(
    admin: AdministrationClient, host: str
) -> None:
    manifest = await pushed(admin, at(host, "a/b", "v1"))
    await pushed(admin, at(host, "a/b", "v2"))
    assert await admin.catalogue(host) == ("a/b",)
    assert await admin.tags(at(host, "a/b")) == ("v1", "v2")
    assert await admin.delete(at(host, "a/b", "v1"))
    assert await admin.tags(at(host, "a/b")) == ("v2",)
    assert await admin.delete(at(host, "a/b", digest=manifest.digest))
    assert await admin.head(at(host, "a/b", "v2")) is None
    assert not await admin.delete(at(host, "a/b", "v2"))
    assert await admin.tags(at(host, "none")) == ()


async def test_the_time_is_the_registrys(admin: AdministrationClient, host: str) -> None:
    time = await admin.server_time(host)
    assert time is not None
    assert abs(time - datetime.now(UTC)) < timedelta(minutes=1)


async def test_referrers_are_listed(admin: AdministrationClient, host: str) -> None:
    image = await pushed(admin, at(host, "a", "v1"))
    subject = await admin.head(at(host, "a", "v1"))
    assert subject is not None
    signature = await pushed(admin, at(host, "a", "sig"), subject=subject)
    found = await admin.referrers(at(host, "a", digest=image.digest))
    assert found is not None
    assert [one.digest for one in found] == [signature.digest]


async def test_a_blob_is_mounted_or_not(admin: AdministrationClient, host: str) -> None:
    blob = await admin.push_blob(at(host, "a"), b"content")
    assert await admin.mount_blob(at(host, "b"), blob.digest, source=at(host, "a"))
    assert await admin.blob(at(host, "b"), blob.digest, bytes_max=100) == b"content"
    absent = Digest.of(b"absent")
    assert not await admin.mount_blob(at(host, "b"), absent, source=at(host, "a"))


async def test_an_upload_instead_of_a_mount_is_cancelled(
    admin: AdministrationClient, host: str, tmp_path: Path
) -> None:
    await admin.mount_blob(at(host, "b"), Digest.of(b"absent"), source=at(host, "a"))
    assert not await asyncio.to_thread(lambda: [*tmp_path.rglob("_uploads/*/data")])


def answering(*answers: str) -> hostile.Answering:
    """The answers in turn, the last one for ever."""
    left = list(answers)

    async def answer(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write((left.pop(0) if len(left) > 1 else left[0]).encode())

    return answer


def page(tags: list[str], following: str = "") -> str:
    body = json.dumps({"name": "a", "tags": tags})
    link = f'Link: <{following}>; rel="next"\r\n' if following else ""
    return f"HTTP/1.1 200 OK\r\n{link}Content-Length: {len(body)}\r\n\r\n{body}"


async def test_an_empty_page_does_not_end_the_list(admin: AdministrationClient) -> None:
    pages = (page(["1"], "/v2/a/tags/list?last=1"), page([], "/v2/a/tags/list?last=2"), page(["3"]))
    async with hostile.served(answering(*pages)) as bad:
        assert await admin.tags(at(bad.host, "a")) == ("1", "3")


async def test_a_page_that_names_itself_is_an_error(admin: AdministrationClient) -> None:
    async with hostile.served(answering(page(["1"], "/v2/a/tags/list?last=1"))) as bad:
        with pytest.raises(registry.TooLarge, match="names itself as the next"):
            await admin.tags(at(bad.host, "a"))


async def test_endless_pages_are_an_error(
    admin: AdministrationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lading.adapters.registry.retries.PAGES_MAX", 5)
    count = 0

    async def answer(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        writer.write(page([], f"/v2/a/tags/list?last={count}").encode())

    async with hostile.served(answer) as bad:
        with pytest.raises(registry.TooLarge, match="more than 5 pages"):
            await admin.tags(at(bad.host, "a"))


async def test_a_list_that_breaks_off_is_an_error(admin: AdministrationClient) -> None:
    broken = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    async with hostile.served(answering(page(["1"], "/v2/a/tags/list?last=1"), broken)) as bad:
        with pytest.raises(registry.Unavailable):
            await admin.tags(at(bad.host, "a"))


async def test_a_manifest_of_any_form_is_read_and_its_digest_verified(
    admin: AdministrationClient,
) -> None:
    body = '{"schemaVersion": 1, "fsLayers": []}'
    answer = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/odd\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    async with hostile.served(answering(answer)) as bad:
        found = await admin.manifest(at(bad.host, "a", "v1"))
        assert (found.content, found.digest) == (body.encode(), Digest.of(body.encode()))
        with pytest.raises(registry.DigestMismatch):
            await admin.manifest(at(bad.host, "a", digest=Digest.of(b"other")))


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
async def test_a_tag_has_the_digest_that_the_registry_states(
    admin: AdministrationClient, algorithm: str
) -> None:
    body = b'{"schemaVersion": 2}'
    stated = Digest.of(body, algorithm)
    answer = hostile.whole(body, f"Docker-Content-Digest: {stated}")
    async with hostile.served(hostile.always(answer)) as good:
        assert (await admin.tagged_manifest(at(good.host, "a", "v1"))).digest == stated


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([f"Docker-Content-Digest: {Digest.of(b'other')}"], registry.DigestMismatch),
        (["Docker-Content-Digest: garbage"], registry.MalformedAnswer),
        ([], registry.MalformedAnswer),
    ],
    ids=["another", "garbage", "none"],
)
async def test_a_tag_without_a_digest_of_its_content_is_an_error(
    admin: AdministrationClient, lines: list[str], error: type[Exception]
) -> None:
    async with hostile.served(hostile.always(hostile.whole(b"{}", *lines))) as bad:
        with pytest.raises(error):
            await admin.tagged_manifest(at(bad.host, "a", "v1"))


async def test_a_registry_without_referrers_has_none(admin: AdministrationClient) -> None:
    answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    async with hostile.served(answering(answer)) as bad:
        assert await admin.referrers(at(bad.host, "a", digest=Digest.of(b"x"))) is None


async def test_only_the_catalogue_scope_is_asked_for(admin: AdministrationClient) -> None:
    asked: list[str] = []

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        asked.append(request.path)
        if request.path.startswith("/token"):
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"token":"t"}')
        elif "authorization" in {name.lower() for name in request.headers}:
            body = '{"repositories": ["a"]}'
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        else:
            realm = f'Bearer realm="http://{bad.host}/token",service="s"'
            writer.write(hostile.whole(b"", f"WWW-Authenticate: {realm}", status="401 No"))

    async with hostile.served(answer) as bad:
        assert await admin.catalogue(bad.host) == ("a",)
    assert any(
        "registry:catalog:*" in path.replace("%3A", ":").replace("%2A", "*") for path in asked
    )
