"""Which credential a runtime gets with a pull, and for which server."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import registries_conf
from lading.adapters.registry.credentials import Table
from lading.adapters.registry.endpoints import DirectRouting, Routing
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.api.core import SECRETS
from lading.embedded import api_server
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import Passwords
from lading.kernel import references
from lading.kernel.objects import Key
from lading.ports import registry
from lading.ports.registry import Credential
from lading.wiring import registries
from lading.wiring.registries import (
    CredentialSettings,
    HostRouting,
    ImageCredentials,
    UnusablePullSecret,
    open_registries,
    pod_credentials,
)

CAROL = Credential(username="carol", password="x")
DIRECT = DirectRouting(plain_http_hosts=frozenset({"plain.example.com:5000"}))
MIRROR_FIRST = """
server = "https://registry.example.com"
[host."https://mirror.example.com"]
"""
ONLY_ELSEWHERE = 'server = "https://elsewhere.example.com"'


@pytest.mark.parametrize(
    ("image", "server_address"),
    [
        ("registry.example.com/app:v1", "https://registry.example.com"),
        ("registry.example.com:443/app:v1", "https://registry.example.com:443"),
        ("plain.example.com:5000/app:v1", "http://plain.example.com:5000"),
        ("127.0.0.1:5000/app:v1", "http://127.0.0.1:5000"),
        ("docker.io/library/app:v1", "https://registry-1.docker.io"),
    ],
)
async def test_a_credential_is_for_the_server_that_the_runtime_asks(
    image: str, server_address: str
) -> None:
    host = image.partition("/")[0]
    subject = ImageCredentials(source=Table({host: CAROL}), routing=DIRECT)
    found = await subject.credential(image)
    assert found is not None
    assert found.password == CAROL.password
    assert found.server_address == server_address
    assert subject.limited(CAROL, image) == found


@pytest.mark.parametrize("configuration", [MIRROR_FIRST, ONLY_ELSEWHERE])
async def test_the_credential_of_a_mirror_is_not_handed_over(
    configuration: str, tmp_path: Path
) -> None:
    routing = mirrored(tmp_path, configuration)
    others = {"mirror.example.com": CAROL, "elsewhere.example.com": CAROL}
    subject = ImageCredentials(source=Table(others), routing=routing)
    assert await subject.credential("registry.example.com/app:v1") is None


@pytest.mark.parametrize("configuration", [MIRROR_FIRST, ONLY_ELSEWHERE])
async def test_a_credential_is_for_the_registry_whatever_mirrors_there_are(
    configuration: str, tmp_path: Path
) -> None:
    routing = mirrored(tmp_path, configuration)
    subject = ImageCredentials(source=Table({"registry.example.com": CAROL}), routing=routing)
    found = await subject.credential("registry.example.com/app:v1")
    assert found is not None
    assert found.server_address == "https://registry.example.com"


def mirrored(folder: Path, configuration: str) -> Routing:
    (folder / "registry.example.com").mkdir()
    (folder / "registry.example.com" / "hosts.toml").write_text(configuration)
    return HostsFolders((folder,), pytest.fail)


async def test_a_bad_certificate_does_not_stop_the_runtimes_own_attempt(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "certs.d" / "registry.example.com"
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_text("no certificate")
    (tmp_path / "registries.conf").write_text("")
    routing = registries_conf.load([tmp_path / "registries.conf"], pytest.fail)
    subject = ImageCredentials(source=Table({"registry.example.com": CAROL}), routing=routing)
    found = await subject.credential("registry.example.com/app:v1")
    assert found is not None
    assert found.server_address == "https://registry.example.com"


async def test_a_mirror_with_a_bad_certificate_is_passed_over_and_reported(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "certs.d" / "mirror.example.com"
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_text("no certificate")
    file = tmp_path / "registries.conf"
    file.write_text(
        '[[registry]]\nlocation = "registry.example.com"\n'
        '[[registry.mirror]]\nlocation = "mirror.example.com"\n'
    )
    reported: list[str] = []
    routing = registries_conf.load([file], reported.append)
    found = routing.endpoints(references.parse("registry.example.com/app:v1"))
    assert [endpoint.host for endpoint in found] == ["registry.example.com"]
    assert "mirror mirror.example.com is not asked" in reported[0]


def test_a_changed_registries_conf_is_read_again(tmp_path: Path) -> None:
    routing = HostRouting(tmp_path)
    folder = tmp_path / "etc/containers"
    assert hosts_of(routing) == ["registry.example.com"]
    folder.mkdir(parents=True)
    (folder / "registries.conf").write_text(mirror_entry("one.example.com"))
    assert hosts_of(routing) == ["one.example.com", "registry.example.com"]
    (folder / "registries.conf").write_text(mirror_entry("another.example.com"))
    assert hosts_of(routing) == ["another.example.com", "registry.example.com"]
    (folder / "registries.conf.d").mkdir()
    (folder / "registries.conf.d/10.conf").write_text(mirror_entry("dropped-in.example.com"))
    assert hosts_of(routing) == ["dropped-in.example.com", "registry.example.com"]
    (folder / "registries.conf.d/10.conf").unlink()
    assert hosts_of(routing) == ["another.example.com", "registry.example.com"]
    (folder / "registries.conf").unlink()
    assert hosts_of(routing) == ["registry.example.com"]


def test_folders_of_containerd_that_appear_later_are_followed(tmp_path: Path) -> None:
    routing = HostRouting(tmp_path)
    assert hosts_of(routing) == ["registry.example.com"]
    folder = tmp_path / "etc/containerd/certs.d/registry.example.com"
    folder.mkdir(parents=True)
    (folder / "hosts.toml").write_text(MIRROR_FIRST)
    assert hosts_of(routing) == ["mirror.example.com", "registry.example.com"]


def hosts_of(routing: Routing) -> list[str]:
    found = routing.endpoints(references.parse("registry.example.com/app:v1"))
    return [endpoint.host for endpoint in found]


def mirror_entry(mirror: str) -> str:
    return (
        '[[registry]]\nlocation = "registry.example.com"\n'
        f'[[registry.mirror]]\nlocation = "{mirror}"\n'
    )


PULL = Key("default", "pull")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with api_server.serve(tmp_path / "api", SystemClock()) as api:
        yield KubeClient(api.exchange)


async def make_secret(client: KubeClient, secret_type: str, data: dict[str, object]) -> None:
    encoded = {key: base64.b64encode(json.dumps(data[key]).encode()).decode() for key in data}
    body = {"metadata": {"name": PULL.name}, "type": secret_type, "data": encoded}
    await client.create(SECRETS, body, namespace=PULL.namespace)


async def test_the_registry_is_shown_what_the_secret_says(
    client: KubeClient, tmp_path: Path
) -> None:
    guard = Passwords({"carol": "right"})
    async with registry_server.serve(tmp_path / "registry", guard=guard) as url:
        host = url.removeprefix("http://")
        entries = {host: {"username": "carol", "password": "right"}}
        await make_secret(client, "kubernetes.io/dockercfg", {".dockercfg": entries})
        settings = CredentialSettings(
            pull_secrets=await registries.named_pull_secrets(client, [PULL])
        )
        async with open_registries(SystemClock(), environment={}, settings=settings) as known:
            with pytest.raises(registry.NotFound):
                await known.client.manifest(references.parse(f"{host}/absent:1"))
        async with open_registries(SystemClock(), environment={}) as unknown:
            with pytest.raises(registry.Unauthorized):
                await unknown.client.manifest(references.parse(f"{host}/absent:1"))


async def test_a_secret_of_another_kind_is_refused_by_name(client: KubeClient) -> None:
    await make_secret(client, "Opaque", {"password": "x"})
    with pytest.raises(UnusablePullSecret, match="secret default/pull: not a pull secret"):
        await registries.named_pull_secrets(client, [PULL])


async def test_a_secret_that_does_not_exist_is_reported(client: KubeClient) -> None:
    with pytest.raises(UnusablePullSecret, match="pull secret default/pull does not exist"):
        await registries.named_pull_secrets(client, [PULL])


IMAGE = "r.example/app:1"


@pytest.fixture
async def api() -> AsyncIterator[KubeClient]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    yield KubeClient(Authorized(core, "t"))
    await core.close()


def auths(user: str, host: str = "r.example") -> str:
    auth = base64.b64encode(f"{user}:secret".encode()).decode()
    return json.dumps({"auths": {host: {"auth": auth}}})


async def put_secret(api: KubeClient, name: str, content: str) -> None:
    data = {".dockerconfigjson": content}
    body = {
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": data,
    }
    await api.create(SECRETS, body, namespace="default")


async def users(api: KubeClient, home: Path, *secrets: str) -> list[str]:
    environment = {"HOME": str(home)}
    async with open_registries(
        SystemClock(), host_root=home, environment=environment
    ) as registries:
        found = await pod_credentials(
            api, registries, namespace="default", secrets=secrets, image=IMAGE
        )
    return [one.username for one in found]


async def test_the_secrets_come_in_their_order_and_then_the_node(
    api: KubeClient, tmp_path: Path
) -> None:
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(auths("node"))
    await put_secret(api, "one", auths("first"))
    await put_secret(api, "two", auths("second"))
    assert await users(api, tmp_path, "two", "one") == ["second", "first", "node"]


async def test_secrets_that_are_missing_or_for_another_registry_are_left_out(
    api: KubeClient, tmp_path: Path
) -> None:
    await put_secret(api, "other", auths("other", host="elsewhere.example"))
    await put_secret(api, "one", auths("first"))
    assert await users(api, tmp_path, "absent", "other", "one") == ["first"]


async def test_a_secret_keeps_its_order_whatever_a_registry_accepted_of_the_node(
    api: KubeClient, tmp_path: Path
) -> None:
    whole, narrow = (json.loads(auths(*one))["auths"] for one in (("b",), ("a", "r.example/app")))
    await put_secret(api, "one", json.dumps({"auths": {**whole, **narrow}}))
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(auths("b"))
    environment = {"HOME": str(tmp_path)}
    async with open_registries(
        SystemClock(), host_root=tmp_path, environment=environment
    ) as registries:
        own = await registries.credentials.credential(IMAGE)
        assert own is not None
        registries.credentials.accepted(IMAGE, own)
        found = await pod_credentials(
            api, registries, namespace="default", secrets=["one"], image=IMAGE
        )
    assert [one.username for one in found] == ["a", "b"]
