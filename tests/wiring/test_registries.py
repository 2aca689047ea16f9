"""Which credential a runtime gets with a pull, and for which server."""

from pathlib import Path

import pytest

from lading.adapters.registry import registries_conf
from lading.adapters.registry.credentials import Table
from lading.adapters.registry.endpoints import DirectRouting, Routing
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.kernel import references
from lading.ports.registry import Credential
from lading.wiring.registries import HostRouting, ImageCredentials

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
