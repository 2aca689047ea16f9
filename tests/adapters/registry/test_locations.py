"""Where a registry may send us, and that no password goes along."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yarl
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import locations
from lading.adapters.registry.certificates import CertificateFolders
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.credentials import Table
from lading.adapters.registry.endpoints import DirectRouting
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.adapters.registry.registries_conf import RegistriesConf, RegistryEntry
from lading.adapters.registry.transport import RegistryCall, Sessions, Transport
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.ports import registry
from lading.ports.registry import Credential
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import Answering, Received, always, app, served, whole

REMOTE = "https://registry.example.com/v2/app/manifests/1"
SECRET = Credential(username="user", password="secret")
MANIFEST = whole(
    b'{"schemaVersion":2,"layers":[]}', "Content-Type: application/vnd.oci.image.manifest.v1+json"
)


@pytest.mark.parametrize(
    ("base", "location", "target"),
    [
        (REMOTE, "/elsewhere?a=b", "https://registry.example.com/elsewhere?a=b"),
        (REMOTE, "//cdn.example.com/x", "https://cdn.example.com/x"),
        (REMOTE, "https://10.0.0.7:9000/x", "https://10.0.0.7:9000/x"),
        ("http://10.0.0.7/x", "https://cdn.example.com/x", "https://cdn.example.com/x"),
        ("http://10.0.0.7/x", "http://10.0.0.8/x", "http://10.0.0.8/x"),
        ("http://127.0.0.1:5000/x", "http://localhost:9000/x", "http://localhost:9000/x"),
        ("http://169.254.1.2/x", "http://169.254.1.3/x", "http://169.254.1.3/x"),
    ],
)
def test_a_location_that_is_followed(base: str, location: str, target: str) -> None:
    assert locations.target(yarl.URL(base), location, what="manifest") == yarl.URL(target)


@pytest.mark.parametrize(
    ("base", "location", "reason"),
    [
        (REMOTE, "", "not an http or https URL"),
        (REMOTE, "file:///etc/passwd", "not an http or https URL"),
        (REMOTE, "http://[::bad", "not an http or https URL"),
        (REMOTE, "http://registry.example.com/x", "not encrypted"),
        (REMOTE, "https://127.0.0.1/x", "address of this machine"),
        (REMOTE, "https://127.8.8.8:6443/x", "address of this machine"),
        (REMOTE, "https://[::1]/x", "address of this machine"),
        (REMOTE, "https://[::ffff:127.0.0.1]/x", "address of this machine"),
        (REMOTE, "https://[fe80::1]/x", "address of this machine"),
        (REMOTE, "https://0.0.0.0/x", "address of this machine"),
        (REMOTE, "https://[::]/x", "address of this machine"),
        (REMOTE, "https://localhost/x", "address of this machine"),
        (REMOTE, "https://LOCALHOST./x", "address of this machine"),
        (REMOTE, "https://registry.localhost/x", "address of this machine"),
        (REMOTE, "https://127.0.0.1./x", "address of this machine"),
        (REMOTE, "https://127.1/x", "address of this machine"),
        (REMOTE, "https://0/x", "address of this machine"),
        (REMOTE, "https://2130706433/x", "address of this machine"),
        (REMOTE, "https://0x7f.1/x", "address of this machine"),
        (REMOTE, "https://017700000001/x", "address of this machine"),
        (REMOTE, "https://①27.0.0.1/x", "address of this machine"),
        (REMOTE, "https://127。0。0。1/x", "address of this machine"),
        (REMOTE, "https://2852039166/latest", "address of this machine"),
        ("http://10.0.0.7/x", "http://169.254.169.254/latest", "address of this machine"),
    ],
)
def test_a_location_that_is_refused(base: str, location: str, reason: str) -> None:
    with pytest.raises(registry.MalformedAnswer, match=f"^manifest app: .*{reason}"):
        locations.target(yarl.URL(base), location, what="manifest app")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("https://registry.example.com/x", "https://registry.example.com:443/y", True),
        ("https://registry.example.com/x", "https://REGISTRY.example.com/x", True),
        ("https://[2001:db8::1]/x", "https://[2001:DB8::1]:443/x", True),
        ("https://registry.example.com/x", "https://me@registry.example.com/x", True),
        ("https://registry.example.com/x", "http://registry.example.com/x", False),
        ("https://registry.example.com/x", "https://registry.example.com:444/x", False),
        ("https://registry.example.com/x", "https://registry.example.com.evil.com/x", False),
        ("https://registry.example.com/x", "https://registry.example.com@evil.com/x", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(one: str, other: str, is_same: bool) -> None:
    urls = yarl.URL(one, encoded=True), yarl.URL(other, encoded=True)
    assert locations.same_origin(*urls) is is_same


def test_a_refused_location_does_not_show_its_query() -> None:
    with pytest.raises(registry.MalformedAnswer) as caught:
        locations.target(yarl.URL(REMOTE), "http://cdn.example.com/x?verify=canary", what="blob")
    assert "cdn.example.com/x" in str(caught.value)
    assert "canary" not in str(caught.value)


def redirecting(location: str) -> Answering:
    return always(whole(b"", f"Location: {location}", status="307 Temporary Redirect"))


def challenging(challenge: str) -> Answering:
    return always(whole(b"", f"WWW-Authenticate: {challenge}", status="401 Unauthorized"))


def asking_for_a_password(then: bytes) -> Answering:
    async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
        challenge = whole(b"", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized")
        writer.write(then if "authorization" in request.headers else challenge)

    return answering


@pytest.mark.parametrize(
    "challenge", ["Basic realm=x", 'Bearer realm="http://{realm}/token"'], ids=["basic", "bearer"]
)
@pytest.mark.parametrize("asks", [False, True], ids=["asks for nothing", "asks for a password"])
async def test_the_target_of_a_redirect_cannot_ask_for_the_password(
    challenge: str, asks: bool
) -> None:
    async with (
        served(always(whole(b'{"token":"t"}'))) as realm,
        served(challenging(challenge.format(realm=realm.host))) as target,
    ):
        redirect = whole(b"", f"Location: http://{target.host}/", status="302 Found")
        first = asking_for_a_password(redirect) if asks else always(redirect)
        async with served(first) as server, hostile.authenticated(server.host) as client:
            with pytest.raises(registry.Unauthorized, match="are not sent to other hosts"):
                await client.manifest(app(server.host))
        assert realm.received == []
        assert all("authorization" not in each.headers for each in target.received)


async def test_the_location_of_an_upload_cannot_ask_for_the_password() -> None:
    async with (
        served(always(whole(b'{"token":"t"}'))) as realm,
        served(challenging(f'Bearer realm="http://{realm.host}/token"')) as store,
    ):

        async def accepting(request: Received, writer: asyncio.StreamWriter) -> None:
            if request.method == "HEAD":
                writer.write(whole(b"", status="404 Not Found"))
                return
            writer.write(whole(b"", f"Location: http://{store.host}/", status="202 Accepted"))

        async with served(accepting) as server, hostile.authenticated(server.host) as client:
            with pytest.raises(registry.Unauthorized, match="are not sent to other hosts"):
                await client.push_blob(app(server.host), BLOB, content_of_blob())
        assert realm.received == []
        assert all("authorization" not in each.headers for each in store.received)


async def test_the_password_does_not_follow_an_upload_to_another_host() -> None:
    async with served(always(whole(b"", status="201 Created"))) as store:

        async def accepting(request: Received, writer: asyncio.StreamWriter) -> None:
            there = whole(b"", f"Location: http://{store.host}/", status="202 Accepted")
            absent = whole(b"", status="404 Not Found")
            answer = asking_for_a_password(absent if request.method == "HEAD" else there)
            await answer(request, writer)

        async with served(accepting) as server, hostile.authenticated(server.host) as client:
            await client.push_blob(app(server.host), BLOB, content_of_blob())
        assert "authorization" in server.received[-1].headers
        assert [one.method for one in store.received] == ["PUT"]
        assert "authorization" not in store.received[0].headers


async def test_a_redirect_from_https_to_http_is_not_followed(self_signed: ssl.SSLContext) -> None:
    async with (
        served(always(MANIFEST)) as plain,
        served(redirecting(f"http://{plain.host}/"), self_signed) as server,
        insecure(server.host) as client,
    ):
        with pytest.raises(registry.MalformedAnswer, match="not encrypted"):
            await client.manifest(app(server.host))
        assert plain.received == []


BLOB = Descriptor(media_type="a/b", digest=Digest.of(b"blob"), size_bytes=4)


async def content_of_blob() -> AsyncIterator[bytes]:
    yield b"blob"


def accepting_uploads(location: str) -> Answering:
    """Has no blob, and sends a client that brings one to the location."""

    async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
        absent = whole(b"", status="404 Not Found")
        there = whole(b"", f"Location: {location}", status="202 Accepted")
        writer.write(absent if request.method == "HEAD" else there)

    return answering


def as_localhost(host: str) -> str:
    """Another host than its address, with a certificate of its own."""
    return named(host, "localhost")


@pytest.mark.parametrize("way", ["redirect", "token realm", "upload"])
async def test_the_certificate_of_another_host_is_verified(
    self_signed: ssl.SSLContext, way: str
) -> None:
    """Whatever is configured for the certificate of the registry that refers to it."""
    async with served(always(MANIFEST), self_signed) as elsewhere:
        url = f"https://{as_localhost(elsewhere.host)}/"
        answering = {
            "redirect": redirecting(url),
            "token realm": challenging(f'Bearer realm="{url}"'),
            "upload": accepting_uploads(url),
        }[way]
        async with served(answering, self_signed) as server, insecure(server.host) as client:
            asked = (
                client.push_blob(app(server.host), BLOB, content_of_blob())
                if way == "upload"
                else client.manifest(app(server.host))
            )
            with pytest.raises(registry.Untrusted, match="localhost"):
                await asked
        assert server.received
        assert elsewhere.received == []


async def test_an_upload_is_not_sent_after_a_redirect() -> None:
    async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
        absent = whole(b"", status="404 Not Found")
        moved = whole(b"", f"Location: http://{elsewhere.host}/", status="307 Temporary Redirect")
        writer.write(absent if request.method == "HEAD" else moved)

    async with (
        served(always(whole(b"", status="201 Created"))) as elsewhere,
        served(answering) as server,
        hostile.authenticated(server.host) as client,
    ):
        with pytest.raises(registry.MalformedAnswer, match="a POST was redirected"):
            await client.push_blob(app(server.host), BLOB, content_of_blob())
        assert elsewhere.received == []


@contextlib.asynccontextmanager
async def insecure(host: str) -> AsyncIterator[RegistryClient]:
    routing = RegistriesConf(
        entries=(RegistryEntry(location=host, insecure=True),),
        certificates=CertificateFolders(Path("/nowhere")),
        report=pytest.fail,
    )
    async with registry_client.connect(
        SystemClock(), routing=routing, limits=hostile.SMALL
    ) as client:
        yield client


# Names of .test resolve to this machine, as an attacker's own name may.


@pytest.fixture
def names_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def resolved(host: Any, *args: Any, **more: Any) -> Any:
        return real("127.0.0.1" if str(host).endswith(".test") else host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


def named(host: str, name: str) -> str:
    return f"{name}:{host.rpartition(':')[2]}"


@contextlib.asynccontextmanager
async def plain_http(host: str) -> AsyncIterator[RegistryClient]:
    async with registry_client.connect(
        SystemClock(),
        routing=DirectRouting(plain_http_hosts=frozenset({host})),
        credentials=Table({host: SECRET}),
        limits=hostile.SMALL,
    ) as client:
        yield client


async def test_a_name_that_resolves_to_this_machine_is_refused_after_a_redirect(
    names_of_this_machine: None,
) -> None:
    async with (
        served(always(MANIFEST)) as inner,
        served(redirecting(f"http://{named(inner.host, 'evil.test')}/secrets")) as server,
        plain_http(named(server.host, "registry.test")) as client,
    ):
        with pytest.raises(registry.MalformedAnswer, match=r"evil\.test is an address of this"):
            await client.manifest(app(named(server.host, "registry.test")))
        assert len(server.received) == 1
        assert inner.received == []


async def test_a_token_realm_that_resolves_to_this_machine_is_refused(
    names_of_this_machine: None,
) -> None:
    async with served(always(whole(b'{"token":"t"}'))) as inner:
        realm = f"http://{named(inner.host, 'evil.test')}/token"
        async with (
            served(challenging(f'Bearer realm="{realm}"')) as server,
            plain_http(named(server.host, "registry.test")) as client,
        ):
            with pytest.raises(registry.MalformedAnswer, match=r"evil\.test is an address of this"):
                await client.manifest(app(named(server.host, "registry.test")))
        assert inner.received == []


async def test_an_upload_location_that_resolves_to_this_machine_is_refused(
    names_of_this_machine: None,
) -> None:
    async with (
        served(always(whole(b"", status="201 Created"))) as inner,
        served(accepting_uploads(f"http://{named(inner.host, 'evil.test')}/")) as server,
        plain_http(named(server.host, "registry.test")) as client,
    ):
        with pytest.raises(registry.MalformedAnswer, match=r"evil\.test is an address of this"):
            await client.push_blob(
                app(named(server.host, "registry.test")), BLOB, content_of_blob()
            )
        assert inner.received == []


async def test_a_registry_of_this_machine_may_redirect_to_its_own_name(
    names_of_this_machine: None,
) -> None:
    async with (
        served(always(MANIFEST)) as store,
        served(redirecting(f"http://{named(store.host, 'registry.test')}/")) as server,
        plain_http(named(server.host, "registry.test")) as client,
    ):
        assert await client.manifest(app(named(server.host, "registry.test")))


async def test_a_redirect_to_the_same_origin_in_other_letters_keeps_the_password(
    names_of_this_machine: None,
) -> None:
    async def moved(request: Received, writer: asyncio.StreamWriter) -> None:
        there = f"Location: http://{request.headers['host'].capitalize()}/there"
        redirect = whole(b"", there, status="302 Found")
        answer = MANIFEST if request.path == "/there" else redirect
        await asking_for_a_password(answer)(request, writer)

    async with (
        served(moved) as server,
        plain_http(named(server.host, "registry.test")) as client,
    ):
        assert await client.manifest(app(named(server.host, "registry.test")))


async def test_the_second_redirect_is_checked_like_the_first(names_of_this_machine: None) -> None:
    """A target that is not of this machine by name must not lead back to it."""
    async with (
        served(always(MANIFEST)) as inner,
        served(redirecting(f"http://{inner.host}/secrets")) as second,
        served(redirecting(f"http://{named(second.host, 'registry.test')}/")) as server,
        plain_http(named(server.host, "registry.test")) as client,
    ):
        with pytest.raises(registry.MalformedAnswer, match="an address of this machine"):
            await client.manifest(app(named(server.host, "registry.test")))
        assert inner.received == []


class Rebinding(aiohttp.abc.AbstractResolver):
    """Another machine at first, played by this one; then an address of this machine."""

    def __init__(self) -> None:
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        if self.asked > 1:
            raise locations.LocalAddress(f"{host} is an address of this machine")
        return await ThreadedResolver().resolve("127.0.0.1", port, family)

    async def close(self) -> None:
        pass


async def test_a_redirect_to_another_port_of_its_host_is_resolved_as_strictly_as_the_first(
    names_of_this_machine: None,
) -> None:
    """The host of the first redirect may be of this machine the second time it is resolved."""
    async with (
        served(always(MANIFEST)) as inner,
        served(redirecting(f"http://{named(inner.host, 'cdn.test')}/secrets")) as cdn,
        served(redirecting(f"http://{named(cdn.host, 'cdn.test')}/")) as server,
        aiohttp.ClientSession() as any_address,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Rebinding())) as remote_only,
    ):
        sessions = Sessions(any_address=any_address, remote_only=remote_only)
        transport = Transport(sessions, SystemClock(), hostile.SMALL, environment={})
        url = yarl.URL(f"http://{named(server.host, 'registry.test')}/")
        with pytest.raises(registry.MalformedAnswer, match=r"cdn\.test is an address of this"):
            await transport.send(RegistryCall(method="GET", url=url, what="manifest app"))
        assert len(cdn.received) == 1
        assert inner.received == []


async def test_headers_for_a_mirror_stay_with_the_mirror(tmp_path: Path) -> None:
    async with (
        served(always(MANIFEST)) as elsewhere,
        served(redirecting(f"http://{elsewhere.host}/")) as mirror,
    ):
        (tmp_path / "_default").mkdir()
        (tmp_path / "_default" / "hosts.toml").write_text(
            f'[host."http://{mirror.host}".header]\nAuthorization = "Bearer canary"\n'
        )
        report: Callable[[str], None] = pytest.fail
        async with registry_client.connect(
            SystemClock(), routing=HostsFolders((tmp_path,), report), limits=hostile.SMALL
        ) as client:
            await client.manifest(app("registry.example.com"))
        assert mirror.received[0].headers["authorization"] == "Bearer canary"
        assert "canary" not in str(elsewhere.received)
