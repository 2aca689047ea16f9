"""Mirrors at work: who answers, who is asked next, and what a mirror never gets to see."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import registries_conf
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.credentials import Table
from lading.adapters.registry.endpoints import Endpoint, Routing, endpoint_at
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.embedded.registry.access import Passwords
from lading.kernel import references
from lading.kernel.references import Reference
from lading.ports import registry
from lading.ports.registry import Credential
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import always, served, whole

IMAGE = sample_images.image([{"a": b"b"}])
SECRET = Credential(username="carol", password="secret")


@dataclass(frozen=True, slots=True)
class Fixed:
    """These endpoints for everything."""

    places: tuple[Endpoint, ...]

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        return self.places


def plain(host: str, *, is_mirror: bool = False) -> Endpoint:
    return endpoint_at(host, "app", scheme="http", is_mirror=is_mirror)


@contextlib.asynccontextmanager
async def through(*places: Endpoint, table: Table | None = None) -> AsyncIterator[RegistryClient]:
    async with registry_client.connect(
        SystemClock(),
        routing=Fixed(places),
        credentials=table or Table({}),
        limits=hostile.SMALL,
    ) as client:
        yield client


@pytest.fixture
async def origin(tmp_path: Path) -> AsyncIterator[str]:
    """A registry that has the image."""
    async with server.serve(tmp_path) as url:
        host = url.removeprefix("http://")
        async with through(plain(host)) as client:
            await sample_images.push(client, references.parse(f"{host}/app:v1"), IMAGE)
        yield host


APP = references.parse("example.test/app:v1")


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"", status="404 Not Found"),
        whole(b"", status="500 Internal Server Error"),
        whole(b"", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized"),
        whole(b"this is not the manifest"),
        b"nonsense\r\n\r\n",
    ],
    ids=["not found", "broken", "closed", "lying", "no HTTP"],
)
async def test_a_mirror_in_trouble_is_passed_over(origin: str, answer: bytes) -> None:
    async with (
        served(always(answer)) as mirror,
        through(plain(mirror.host, is_mirror=True), plain(origin)) as client,
    ):
        assert await client.manifest(APP) == IMAGE.manifest
        descriptor, content = IMAGE.blobs[0]
        if answer.startswith(b"HTTP/1.1 200"):
            return
        assert b"".join([piece async for piece in client.blob(APP, descriptor)]) == content


async def test_a_mirror_that_has_the_image_is_the_only_one_asked(origin: str) -> None:
    async with (
        served(always(whole(b"", status="500 Internal Server Error"))) as primary,
        through(plain(origin, is_mirror=True), plain(primary.host)) as client,
    ):
        assert await client.manifest(APP) == IMAGE.manifest
        assert primary.received == []


async def test_what_neither_mirror_nor_registry_has_is_not_found(origin: str) -> None:
    missing = references.parse("example.test/app:v2")
    async with through(plain(origin, is_mirror=True), plain(origin)) as client:
        assert await client.head(missing) is None


async def test_a_credential_for_the_registry_is_not_shown_to_its_mirror(tmp_path: Path) -> None:
    closed = whole(b"", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized")
    guard = Passwords({"carol": "secret"})
    async with (
        served(always(closed)) as mirror,
        server.serve(tmp_path, guard=guard) as url,
        through(plain(mirror.host, is_mirror=True), plain(url.removeprefix("http://"))) as client,
    ):
        with pytest.raises(registry.NotFound):
            await client.with_credential(SECRET).manifest(APP)
        assert mirror.received
        assert all("authorization" not in received.headers for received in mirror.received)


async def test_nothing_is_pushed_to_a_mirror(origin: str, tmp_path: Path) -> None:
    async with (
        served(always(whole(b"", status="500 Internal Server Error"))) as mirror,
        through(plain(mirror.host, is_mirror=True), plain(origin)) as client,
    ):
        await sample_images.push(client, APP, IMAGE)
        assert mirror.received == []


async def test_an_insecure_registry_that_speaks_no_tls_is_reached_over_plain_http(
    origin: str,
) -> None:
    async with through(endpoint_at(origin, "app", insecure=True)) as client:
        for _ in range(2):
            assert await client.manifest(APP) == IMAGE.manifest


async def test_a_certificate_that_cannot_be_verified_is_refused_unless_allowed(
    tmp_path: Path, self_signed: ssl.SSLContext
) -> None:
    async with server.serve(tmp_path, tls=self_signed) as url:
        host = url.removeprefix("https://")
        async with through(endpoint_at(host, "app")) as client:
            with pytest.raises(registry.Untrusted, match="CERTIFICATE_VERIFY_FAILED"):
                await client.manifest(APP)
        async with through(endpoint_at(host, "app", insecure=True)) as client:
            assert await client.head(APP) is None


def hosts_folders(folder: Path, host: str) -> Routing:
    return HostsFolders([folder / "certs.d"], pytest.fail)


def conf_with_folders(folder: Path, host: str) -> Routing:
    conf = folder / "registries.conf"
    conf.write_text(f'[[registry]]\nlocation = "{host}"\n')
    return registries_conf.load([conf], pytest.fail)


@pytest.mark.parametrize("routing", [hosts_folders, conf_with_folders])
async def test_a_registry_that_wants_certificates_is_reached_with_those_in_its_folder(
    tmp_path: Path, self_signed_file: Path, routing: Callable[[Path, str], Routing]
) -> None:
    """The layout of docker, which containerd and CRI-O read too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed_file)
    context.load_verify_locations(self_signed_file)
    context.verify_mode = ssl.CERT_REQUIRED
    async with server.serve(tmp_path / "data", tls=context) as url:
        host = url.removeprefix("https://")
        folder = tmp_path / "certs.d" / host
        folder.mkdir(parents=True)
        for name in ("ca.crt", "client.cert", "client.key"):
            (folder / name).symlink_to(self_signed_file)
        async with registry_client.connect(
            SystemClock(), routing=routing(tmp_path, host), limits=hostile.SMALL
        ) as client:
            assert await client.head(references.parse(f"{host}/app:1")) is None


async def test_a_password_is_not_sent_unencrypted_to_the_realm_of_an_encrypted_registry(
    self_signed: ssl.SSLContext,
) -> None:
    async with served(always(whole(b'{"token":"t"}'))) as realm:
        challenge = f'WWW-Authenticate: Bearer realm="http://{realm.host}/token"'
        answer = whole(b"", challenge, status="401 Unauthorized")
        async with served(always(answer), self_signed) as encrypted:
            place = endpoint_at(encrypted.host, "app", insecure=True)
            table = Table({encrypted.host: SECRET})
            async with through(place, table=table) as client:
                with pytest.raises(registry.MalformedAnswer, match="not encrypted"):
                    await client.manifest(APP)
        assert realm.received == []
