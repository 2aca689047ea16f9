"""Every credential goes to its own server and to no other, by what the other server receives.

SECURITY.md has a row for each credential, and names the test here that proves it. The token of the
cluster has a module of its own, with the commands: `test_cluster_token.py`.
"""

import asyncio
import contextlib
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from lading.adapters.clock import SystemClock
from lading.adapters.ec2 import Ec2Client
from lading.adapters.kube import agent_proxy, kubelet_proxy
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, ExecPlugin, Trust, User
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kube.transport import NetworkTransport
from lading.adapters.kubelet import LoopbackKubelet
from lading.adapters.kubelet_identity import KubeletTrust
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import node_credentials
from lading.adapters.registry.administration import AdministrationClient
from lading.adapters.registry.credentials import CredentialSource, Table
from lading.adapters.storage import object_storage
from lading.api.core import NODES
from lading.kernel.digests import Digest
from lading.kernel.objects import Key
from lading.ports import kube, registry
from lading.ports.ec2 import Ec2Error
from lading.ports.node import KubeletLimits
from lading.ports.registry import Credential
from lading.ports.storage import StorageError
from lading.pruning.engine import registry_url
from lading.web import server as dashboard
from lading.web.hub import Hub
from lading.wiring.prune import OneRegistry, RegistryTrust
from tests.adapters.kube.certificates import Authority
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import Answering, Hostile, Received, always, app, served, whole
from tests.security import recording
from tests.security.recording import ISSUED, got

SECRET = "canary-credential-4711"
OK = whole(b"{}", "Content-Type: application/json")
REGION = "us-east-1"


@dataclass(frozen=True, kw_only=True)
class Certified:
    """Servers of this machine with a certificate, and the authority that signed it."""

    authority: Authority
    file: Path
    tls: ssl.SSLContext


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certified:
    authority = Authority()
    file = tmp_path / "ca.crt"
    file.write_text(authority.pem)
    tls = authority.server_context(tmp_path, "127.0.0.1", "localhost", "registry.example.com")
    # As if a public authority had signed it: what stops a request then is not the certificate.
    trusting = ssl.create_default_context(cadata=authority.pem)
    monkeypatch.setattr(aiohttp.connector, "_SSL_CONTEXT_VERIFIED", trusting)
    return Certified(authority=authority, file=file, tls=tls)


def redirecting(url: str, status: str = "307 Temporary Redirect") -> Answering:
    return always(whole(b"", f"Location: {url}", status=status))


# The API server: tokens, passwords, plugins and certificates of a kubeconfig or of a pod.


def proof(kind: str, folder: Path, authority: Authority) -> User:
    match kind:
        case "token":
            return User(token=SECRET)
        case "token file of a pod":
            (folder / "token").write_text(SECRET)
            return User(token_file=str(folder / "token"))
        case "password":
            return User(username="carol", password=SECRET)
        case "exec plugin":
            version = "client.authentication.k8s.io/v1"
            status = {"token": SECRET}
            printed = {"apiVersion": version, "kind": "ExecCredential", "status": status}
            command = (sys.executable, "-c", f"print({json.dumps(printed)!r})")
            plugin = ExecPlugin(
                where="exec",
                api_version=version,
                command=command[0],
                arguments=command[1:],
                interactive_mode="Never",
            )
            return User(exec_plugin=plugin)
        case "client certificate":
            return User(certificate=authority.issue("carol"))
    raise AssertionError(kind)


async def read_node(client: KubeClient) -> None:
    await client.get(NODES, "one")


async def read_agent(client: KubeClient) -> None:
    await agent_proxy.page(client, "one", Key(namespace="lading", name="agent"), "/progress")


async def read_kubelet(client: KubeClient) -> None:
    await kubelet_proxy.reported_limits(client, "one")


KINDS = ("token", "token file of a pod", "password", "exec plugin", "client certificate")
ASKED: dict[str, Callable[[KubeClient], Awaitable[None]]] = {
    "an object": read_node,
    "the page of an agent": read_agent,
    "a kubelet": read_kubelet,
}


@pytest.mark.parametrize(
    ("kind", "asked"),
    [*((kind, "an object") for kind in KINDS), *(("token", one) for one in ASKED)],
)
async def test_an_api_server_that_redirects_sends_no_proof_elsewhere(
    tmp_path: Path, certified: Certified, kind: str, asked: str
) -> None:
    async with (
        served(always(OK), certified.tls) as elsewhere,
        served(redirecting(f"https://{elsewhere.host}/"), certified.tls) as api,
    ):
        connection = Connection(
            server=f"https://{api.host}",
            trust=Trust(authority_pem=certified.authority.pem),
            user=proof(kind, tmp_path, certified.authority),
        )
        async with NetworkTransport(connection, SystemClock()) as network:
            with pytest.raises((kube.KubeError, kubelet_proxy.LimitsUnknown)):
                await ASKED[asked](KubeClient(network))
        assert api.received
        assert got(SECRET, [api]) or kind == "client certificate"
        assert elsewhere.received == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("impostor", ["another authority", "no TLS"])
async def test_an_impostor_of_the_api_server_gets_no_proof(
    tmp_path: Path, certified: Certified, kind: str, impostor: str
) -> None:
    tls = certified.tls if impostor == "another authority" else None
    async with served(always(OK), tls) as other:
        connection = Connection(
            server=f"https://{other.host}",
            trust=Trust(authority_pem=Authority().pem),
            user=proof(kind, tmp_path, certified.authority),
        )
        async with NetworkTransport(connection, SystemClock()) as network:
            with pytest.raises(kube.KubeError):
                await read_node(KubeClient(network))
        assert other.received == []


# Registries: logins, helpers, plugins and pull secrets; and the tokens that a realm gives for them.

BLOB = Digest.of(b"blob")


def asking_then(answer: Callable[[Received], bytes]) -> Answering:
    """Wants a token of its own realm, and gives this answer to a request that has one."""

    async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
        if "authorization" in request.headers and not request.path.startswith("/token"):
            writer.write(answer(request))
            return
        realm = f'Bearer realm="https://{request.headers["host"]}/token"'
        await recording.challenging(realm)(request, writer)

    return answering


def moved(location: str) -> bytes:
    return whole(b"", f"Location: {location}", status="307 Temporary Redirect")


def asking_and_moved(location: str) -> Answering:
    return asking_then(lambda _: moved(location))


def begun_upload(location: str) -> Answering:
    absent = whole(b"", status="404 Not Found")
    begun = whole(b"", f"Location: {location}", status="202 Accepted")
    return asking_then(lambda request: absent if request.method == "HEAD" else begun)


async def read(client: AdministrationClient, host: str) -> None:
    await client.manifest(app(host))


async def push(client: AdministrationClient, host: str) -> None:
    await client.push_blob(app(host), b"blob")


async def mount(client: AdministrationClient, host: str) -> None:
    await client.mount_blob(app(host), BLOB, source=app(host))


async def delete(client: AdministrationClient, host: str) -> None:
    await client.delete(app(host))


Work = Callable[[AdministrationClient, str], Awaitable[None]]
WAYS: dict[str, tuple[Callable[[str], Answering], Work]] = {
    "the target of a redirect, which asks for credentials": (redirecting, read),
    "the target of a redirect with credentials": (asking_and_moved, read),
    "the target of a redirected deletion": (asking_and_moved, delete),
    "the location of an upload": (begun_upload, push),
    "the location of an upload that is begun instead of a mount": (begun_upload, mount),
}


@pytest.mark.parametrize("kind", ["login", "token of the cluster"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_registry_sends_no_credential_and_no_token_elsewhere(
    certified: Certified, way: str, kind: str
) -> None:
    answering, work = WAYS[way]
    bait = asking_then(lambda _: OK)
    async with served(bait, certified.tls) as elsewhere:
        location = f"https://{elsewhere.host}/elsewhere"
        async with served(answering(location), certified.tls) as own:
            only_to = (own.host,) if kind == "token of the cluster" else None
            credential = Credential(username="carol", password=SECRET, only_to=only_to)
            url = registry_url.parse(f"https://{own.host}")
            async with registry_client.connect(
                SystemClock(),
                routing=OneRegistry(url, RegistryTrust(certified.file, insecure=False)),
                credentials=Table({own.host: credential}),
                limits=hostile.SMALL,
            ) as client:
                with contextlib.suppress(registry.RegistryError):
                    await work(AdministrationClient(client), own.host)
            asks = answering is not redirecting
            assert bool(got(SECRET, [own])) is bool(got(ISSUED, [own])) is asks
            assert elsewhere.received or work is delete
            assert got(SECRET, [elsewhere]) == got(ISSUED, [elsewhere]) == []


def source_of(kind: str, host: str, folder: Path) -> CredentialSource:
    """A credential for the host, from where machines have theirs."""
    login = {"auths": {host: {"username": "carol", "password": SECRET}}}
    clock = SystemClock()
    match kind:
        case "auth file":
            (folder / "auth.json").write_text(json.dumps(login))
            return node_credentials.from_auth_files([folder / "auth.json"], clock, pytest.fail)
        case "credential helper":
            answer = {"ServerURL": host, "Username": "carol", "Secret": SECRET}
            write_program(folder / "docker-credential-canary", answer)
            (folder / "auth.json").write_text(json.dumps({"credHelpers": {host: "canary"}}))
            return node_credentials.from_auth_files([folder / "auth.json"], clock, pytest.fail)
        case "pull secret":
            (folder / "secret").mkdir()
            (folder / "secret" / ".dockerconfigjson").write_text(json.dumps(login))
            return node_credentials.from_pull_secrets([folder / "secret"], clock, pytest.fail)
        case "credential plugin of the kubelet":
            version = "credentialprovider.kubelet.k8s.io/v1"
            auth = {host: {"username": "carol", "password": SECRET}}
            answer = {"apiVersion": version, "kind": "CredentialProviderResponse"}
            write_program(folder / "plugin", {**answer, "cacheKeyType": "Registry", "auth": auth})
            entry = {"name": "plugin", "apiVersion": version, "defaultCacheDuration": "1m"}
            config = {"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig"}
            providers = [{**entry, "matchImages": ["127.0.0.1:*", host]}]
            (folder / "config.json").write_text(json.dumps({**config, "providers": providers}))
            return node_credentials.from_providers(
                folder / "config.json", folder=folder, clock=clock, report=pytest.fail
            )
    raise AssertionError(kind)


def write_program(path: Path, prints: dict[str, Any]) -> None:
    path.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{json.dumps(prints)}'\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "kind", ["auth file", "credential helper", "pull secret", "credential plugin of the kubelet"]
)
async def test_a_registry_gets_no_credential_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    asks = recording.challenging('Basic realm="registry"')
    async with served(asks) as own, served(asks) as other:
        source = source_of(kind, own.host, tmp_path)
        async with registry_client.connect(
            SystemClock(), credentials=source, limits=hostile.SMALL
        ) as client:
            for host in (own.host, other.host):
                with pytest.raises(registry.Unauthorized):
                    await client.manifest(app(host))
        assert got(SECRET, [own])
        assert other.received
        assert got(SECRET, [other]) == []


# Proxies: they carry encrypted bytes, and their password stays with them.

PROXY_PASSWORD = "canary-proxy-4711"


@dataclass
class Tunnel:
    url: str = ""
    heads: str = ""
    carried: bytes = b""


@contextlib.asynccontextmanager
async def tunnel(target: Hostile) -> AsyncIterator[Tunnel]:
    """A proxy that connects to the target, whatever it is asked for, and keeps every byte."""
    made = Tunnel()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(65536):
                made.carried += chunk
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.heads += (await reader.readuntil(b"\r\n\r\n")).decode()
        inner, outer = await asyncio.open_connection(*target.host.split(":"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(reader, outer), pump(inner, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        made.url = f"http://proxy-user:{PROXY_PASSWORD}@127.0.0.1:{port}"
        yield made


def check_proxied(proxy: Tunnel, target: Hostile) -> None:
    assert "proxy-authorization: basic" in proxy.heads.lower()
    assert got(SECRET, [target])
    assert got(PROXY_PASSWORD, [target]) == []
    head = Received(method="CONNECT", path=proxy.heads, headers={}, body=proxy.carried)
    assert got(SECRET, [Hostile(received=[head])]) == []


async def test_a_registry_behind_a_proxy_gets_no_password_of_the_proxy(
    certified: Certified,
) -> None:
    """And the proxy none of the registry."""
    asks = recording.challenging('Basic realm="registry"')
    async with served(asks, certified.tls) as own, tunnel(own) as proxy:
        url = registry_url.parse(f"https://registry.example.com:{own.host.rpartition(':')[2]}")
        async with registry_client.connect(
            SystemClock(),
            routing=OneRegistry(url, RegistryTrust(certified.file, insecure=False)),
            credentials=Table({url.host: Credential(username="carol", password=SECRET)}),
            environment={"HTTPS_PROXY": proxy.url},
            limits=hostile.SMALL,
        ) as client:
            with pytest.raises(registry.Unauthorized):
                await client.manifest(app(url.host))
        check_proxied(proxy, own)


async def test_an_api_server_behind_a_proxy_gets_no_password_of_the_proxy(
    certified: Certified,
) -> None:
    async with served(always(OK), certified.tls) as api, tunnel(api) as proxy:
        connection = Connection(
            server=f"https://{api.host}",
            trust=Trust(authority_pem=certified.authority.pem),
            user=User(token=SECRET),
            proxy_url=proxy.url,
        )
        async with NetworkTransport(connection, SystemClock()) as network:
            await KubeClient(network).get(NODES, "one")
        check_proxied(proxy, api)


# The kubelet, EC2 and STS.


async def test_a_kubelet_that_redirects_sends_no_token_elsewhere(certified: Certified) -> None:
    """Who is no kubelet gets none either: `tests/adapters/test_kubelet.py`."""
    async with (
        served(always(OK), certified.tls) as elsewhere,
        served(redirecting(f"https://{elsewhere.host}/configz"), certified.tls) as kubelet,
        aiohttp.ClientSession() as session,
    ):
        asked = LoopbackKubelet(
            session,
            SystemClock(),
            port=int(kubelet.host.rpartition(":")[2]),
            credentials=Credentials(User(token=SECRET), SystemClock()),
            trust=KubeletTrust(node_name="one", uid=os.geteuid()),
        )
        assert await asked.limits() == KubeletLimits()
        assert got(SECRET, [kubelet])
        assert elsewhere.received == []


def write_keys(folder: Path, kind: str) -> Path:
    keys = {"aws_access_key_id": "AKID", "aws_secret_access_key": "x", "aws_session_token": SECRET}
    if kind == "web identity":
        (folder / "token").write_text(SECRET)
        role = "arn:aws:iam::123456789012:role/lading"
        keys = {"role_arn": role, "web_identity_token_file": str(folder / "token")}
    lines = ("[default]", *(f"{name} = {value}" for name, value in keys.items()))
    file = folder / "credentials"
    file.write_text("\n".join(lines))
    return file


@pytest.mark.parametrize("kind", ["keys", "web identity"])
@pytest.mark.parametrize("way", ["redirect", "another certificate"])
async def test_aws_gets_keys_and_web_identities_and_no_other_host_does(
    tmp_path: Path, kind: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_keys(tmp_path, kind)
    unknown = Authority().server_context(tmp_path, "127.0.0.1")
    async with served(always(OK)) as elsewhere:
        tls = unknown if way == "another certificate" else None
        async with served(redirecting(f"http://{elsewhere.host}/"), tls) as aws:
            url = f"{'https' if tls else 'http'}://{aws.host}"
            monkeypatch.setenv("AWS_ENDPOINT_URL", url)
            with pytest.raises(Ec2Error):
                await Ec2Client(file).image(REGION, "ami-0")
            assert bool(got(SECRET, [aws])) is (way == "redirect")
            assert elsewhere.received == []


# Storage. obstore follows redirects: the last test has what it sends along.

STORAGES: dict[str, tuple[str, Callable[[str], dict[str, str]]]] = {
    "S3 keys": (
        "s3://images",
        lambda url: {
            "AWS_ENDPOINT_URL": url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": SECRET,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        },
    ),
    "a token of Google": (
        "gs://images",
        lambda url: {"GOOGLE_BASE_URL": url, "GOOGLE_BEARER_TOKEN": SECRET},
    ),
    "a token of Azure": (
        "az://images",
        lambda url: {
            "AZURE_STORAGE_ENDPOINT": url,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_TOKEN": SECRET,
        },
    ),
    "signatures of Azure": (
        "az://images",  # the name of the account is in each of them
        lambda url: {
            "AZURE_STORAGE_ENDPOINT": url,
            "AZURE_STORAGE_ACCOUNT_NAME": SECRET,
            "AZURE_STORAGE_ACCOUNT_KEY": "a2V5",
        },
    ),
    "a session token of AWS": (
        "s3://images",
        lambda url: {
            "AWS_ENDPOINT_URL": url,
            "AWS_REGION": REGION,
            "AWS_SESSION_TOKEN": SECRET,
            "AWS_ACCESS_KEY_ID": "AKID",
            "AWS_SECRET_ACCESS_KEY": "x",
        },
    ),
    "a SAS of Azure": (
        "az://images",
        lambda url: {
            "AZURE_STORAGE_ENDPOINT": url,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_SAS_TOKEN": f"sv=1&sig={SECRET}",
        },
    ),
}
HELD = ("S3 keys", "a token of Google")


async def use_storage(kind: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads, lists, writes and deletes; all of it fails."""
    address, environment = STORAGES[kind]
    for name, value in environment(url).items():
        monkeypatch.setenv(name, value)
    storage = object_storage.open_storage(address, environment=os.environ)
    with pytest.raises(StorageError):
        await storage.read("a", bytes_max=1)
    with pytest.raises(StorageError):
        _ = [page async for page in storage.pages("a")]
    with pytest.raises(StorageError):
        await storage.put("a", b"")
    await storage.delete(["a"])


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(object_storage._RETRIES, "max_retries", 0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("kind", HELD)
async def test_a_storage_that_redirects_sends_no_keys_and_no_tokens_elsewhere(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async with (
        served(always(whole(b"", status="404 Not Found"))) as elsewhere,
        served(redirecting(f"http://{elsewhere.host}/x")) as own,
    ):
        await use_storage(kind, f"http://{own.host}", monkeypatch)
        assert got(SECRET, [own])
        assert elsewhere.received
        assert got(SECRET, [elsewhere]) == []


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("kind", STORAGES)
async def test_a_storage_over_tls_sends_nothing_over_plain_http(
    certified: Certified, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certified.file))
    async with (
        served(always(whole(b"", status="404 Not Found"))) as elsewhere,
        served(redirecting(f"http://{elsewhere.host}/x"), certified.tls) as own,
    ):
        await use_storage(kind, f"https://{own.host}", monkeypatch)
        assert own.received
        assert elsewhere.received == []


def places(server: Hostile) -> set[str]:
    """Where the server received the secret: names of headers, and `body`."""
    found = {
        name for one in server.received for name, value in one.headers.items() if SECRET in value
    }
    return found | {"body" for one in server.received if SECRET in one.body.decode()}


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("a session token of AWS", {"x-amz-security-token"}),
        ("a token of Azure", {"body"}),  # of a deletion, which has a request for each object
        ("signatures of Azure", {"body"}),
        ("a SAS of Azure", {"body", "referer"}),
    ],
)
async def test_what_a_storage_that_redirects_does_send_elsewhere(
    monkeypatch: pytest.MonkeyPatch, kind: str, expected: set[str]
) -> None:
    """SECURITY.md lists it. If the other host gets less some day, change both."""
    async with (
        served(always(whole(b"", status="404 Not Found"))) as elsewhere,
        served(redirecting(f"http://{elsewhere.host}/x")) as own,
    ):
        await use_storage(kind, f"http://{own.host}", monkeypatch)
        assert places(elsewhere) == expected


@pytest.mark.usefixtures("hasty")
async def test_sts_for_a_storage_gets_a_web_identity_and_so_does_its_redirect(
    tmp_path: Path, certified: Certified, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SECURITY.md lists it. If the other host gets less some day, change both."""
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.setenv("SSL_CERT_FILE", str(certified.file))
    async with (
        served(always(whole(b"", status="404 Not Found")), certified.tls) as elsewhere,
        served(redirecting(f"https://{elsewhere.host}/x"), certified.tls) as sts,
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"https://{sts.host}")
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/lading")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        storage = object_storage.open_storage("s3://images", environment=os.environ)
        with pytest.raises(StorageError):
            await storage.read("a", bytes_max=1)
        assert got(SECRET, [sts])
        assert places(elsewhere) == {"referer"}


# The dashboard, in a browser that opens another page afterwards.


async def test_a_page_of_another_host_gets_no_token_and_no_cookie_of_the_dashboard() -> None:
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an IP address
    async with (
        dashboard.serve(Hub(), {}, {}) as url,
        served(always(OK)) as other,
        aiohttp.ClientSession(cookie_jar=jar) as browser,
    ):
        async with browser.get(url) as page:
            assert page.headers["Referrer-Policy"] == "no-referrer"
            assert "token" not in page.url.query
        (cookie,) = jar
        async with browser.get(f"http://localhost:{other.host.rpartition(':')[2]}/"):
            pass
        assert other.received
        assert got(URL(url).query["token"], [other]) == got(cookie.value, [other]) == []
