"""Where a reference is asked for: directly, by registries.conf, by hosts.toml."""

import ssl
from pathlib import Path

import pytest

from lading.adapters.registry import registries_conf
from lading.adapters.registry.endpoints import ALL_USES, DirectRouting, Endpoint, Routing, Use
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.adapters.registry.registries_conf import RegistriesConf
from lading.kernel import references
from lading.ports import registry
from tests.adapters.kube.certificates import Authority

DIGEST = "@sha256:" + "0" * 64


def places(routing: Routing, text: str) -> list[str]:
    found = routing.endpoints(references.parse(text))
    return [f"{endpoint.url}/{endpoint.repository}" for endpoint in found]


def endpoint(routing: Routing, text: str) -> Endpoint:
    return routing.endpoints(references.parse(text))[0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("example.test/team/app:v1", "https://example.test/v2/team/app"),
        ("docker.io/nginx:1", "https://registry-1.docker.io/v2/library/nginx"),
        ("docker.io/team/app:1", "https://registry-1.docker.io/v2/team/app"),
        ("localhost:5000/app:1", "http://localhost:5000/v2/app"),
        ("127.0.0.1:5000/app:1", "http://127.0.0.1:5000/v2/app"),
        ("[::1]:5000/app:1", "http://[::1]:5000/v2/app"),
        ("plain.test:5000/app:1", "http://plain.test:5000/v2/app"),
        ("10.0.0.1:5000/app:1", "https://10.0.0.1:5000/v2/app"),
    ],
)
def test_without_configuration_a_registry_is_asked_directly(text: str, place: str) -> None:
    assert places(DirectRouting(frozenset({"plain.test:5000"})), text) == [place]


CONF = """
unqualified-search-registries = ["example.test"]

[[registry]]
prefix = "example.test"
location = "moved.test/old"

[[registry]]
location = "example.test/team"
mirror-by-digest-only = true
[[registry.mirror]]
location = "mirror.test/team"
insecure = true

[[registry]]
prefix = "*.wild.test"
[[registry.mirror]]
location = "mirror.test/wild"

[[registry]]
prefix = "exact.wild.test"
location = "exact.wild.test"

[[registry]]
prefix = "pulls.test"
location = "pulls.test"
[[registry.mirror]]
location = "tags.test"
pull-from-mirror = "tag-only"
[[registry.mirror]]
location = "digests.test"
pull-from-mirror = "digest-only"

[[registry]]
location = "forbidden.test"
blocked = true
"""


@pytest.fixture
def problems() -> list[str]:
    return []


def loaded(folder: Path, problems: list[str], text: str = CONF) -> RegistriesConf:
    main = folder / "registries.conf"
    main.write_text(text)
    return registries_conf.load(registries_conf.files_of(main), problems.append)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.test/other/app:1", ["https://moved.test/v2/old/other/app"]),
        ("example.test/teams/app:1", ["https://moved.test/v2/old/teams/app"]),
        ("example.test/team/app:1", ["https://example.test/v2/team/app"]),
        (
            f"example.test/team/app{DIGEST}",
            ["https://mirror.test/v2/team/app", "https://example.test/v2/team/app"],
        ),
        (
            "a.wild.test/app:1",
            ["https://mirror.test/v2/wild/app", "https://a.wild.test/v2/app"],
        ),
        (
            "a.b.wild.test/app:1",
            ["https://mirror.test/v2/wild/app", "https://a.b.wild.test/v2/app"],
        ),
        ("exact.wild.test/app:1", ["https://exact.wild.test/v2/app"]),
        ("wild.test/app:1", ["https://wild.test/v2/app"]),
        ("pulls.test/app:1", ["https://tags.test/v2/app", "https://pulls.test/v2/app"]),
        (
            f"pulls.test/app{DIGEST}",
            ["https://digests.test/v2/app", "https://pulls.test/v2/app"],
        ),
        ("unlisted.test/app:1", ["https://unlisted.test/v2/app"]),
    ],
)
def test_registries_conf_decides_by_the_longest_prefix(
    tmp_path: Path, problems: list[str], text: str, expected: list[str]
) -> None:
    assert places(loaded(tmp_path, problems), text) == expected
    assert problems == []


@pytest.mark.parametrize("prefix", ["a.test/app:1", f"a.test/app{DIGEST}", "a.test/app"])
def test_a_prefix_may_be_one_image(tmp_path: Path, problems: list[str], prefix: str) -> None:
    text = f'[[registry]]\nprefix = "{prefix}"\nlocation = "b.test/moved"\n'
    routing = loaded(tmp_path, problems, text)
    assert places(routing, f"a.test/app:1{DIGEST}") == ["https://b.test/v2/moved"]
    assert places(routing, "a.test/app2:1") == ["https://a.test/v2/app2"]


def test_a_blocked_registry_is_refused_by_name(tmp_path: Path, problems: list[str]) -> None:
    with pytest.raises(registry.Blocked, match=r"forbidden\.test"):
        places(loaded(tmp_path, problems), "forbidden.test/app:1")


def test_an_insecure_mirror_is_not_verified_and_may_be_plain(
    tmp_path: Path, problems: list[str]
) -> None:
    mirror = endpoint(loaded(tmp_path, problems), f"example.test/team/app{DIGEST}")
    assert (mirror.is_mirror, mirror.tls, mirror.may_be_plain_http) == (True, False, True)
    assert mirror.over_plain_http().url == "http://mirror.test/v2"
    assert mirror.image == "mirror.test/team/app"


def test_a_drop_in_replaces_an_entry_of_the_same_prefix(
    tmp_path: Path, problems: list[str]
) -> None:
    drop_ins = tmp_path / "registries.conf.d"
    drop_ins.mkdir()
    (drop_ins / "50-mine.conf").write_text('[[registry]]\nlocation = "forbidden.test"\n')
    routing = loaded(tmp_path, problems)
    assert places(routing, "forbidden.test/app:1") == ["https://forbidden.test/v2/app"]


@pytest.mark.parametrize(
    "entry",
    [
        "insecure = true",
        'location = "bad.test"\ninsecure = "yes"',
        'location = "not a host"',
        'location = "bad.test"\n[[registry.mirror]]\ninsecure = true',
        'location = "bad.test"\n[[registry.mirror]]\nlocation="m"\npull-from-mirror="never"',
    ],
)
def test_a_malformed_entry_disables_only_itself(
    tmp_path: Path, problems: list[str], entry: str
) -> None:
    text = f'[[registry]]\n{entry}\n[[registry]]\nprefix="a.test"\nlocation="b.test"\n'
    routing = loaded(tmp_path, problems, text)
    assert places(routing, "a.test/app:1") == ["https://b.test/v2/app"]
    assert "registry[0]" in problems[0]


@pytest.mark.parametrize("text", ["not toml [", 'registry = "version 1"'])
def test_a_file_that_cannot_be_read_is_reported(
    tmp_path: Path, problems: list[str], text: str
) -> None:
    routing = loaded(tmp_path, problems, text)
    assert places(routing, "a.test/app:1") == ["https://a.test/v2/app"]
    assert "registries.conf" in problems[0]


HOSTS = """
server = "https://origin.test:5000"

[host."http://mirror.test"]
capabilities = ["pull", "resolve"]
[host."http://mirror.test".header]
x-team = ["a", "b"]

[host."https://nested.test/proxy/v2/example"]
capabilities = ["pull"]
override_path = true
skip_verify = true

[host."bare.test:6000/base"]
"""


def hosts(folder: Path, problems: list[str], name: str, text: str = HOSTS) -> HostsFolders:
    (folder / name).mkdir()
    (folder / name / "hosts.toml").write_text(text)
    return HostsFolders([folder], problems.append)


@pytest.mark.parametrize("name", ["example.test_5000_", "example.test:5000", "_default"])
def test_hosts_toml_lists_mirrors_then_the_server(
    tmp_path: Path, problems: list[str], name: str
) -> None:
    routing = hosts(tmp_path, problems, name)
    assert places(routing, "example.test:5000/team/app:1") == [
        "http://mirror.test/v2/team/app",
        "https://nested.test/proxy/v2/example/team/app",
        "https://bare.test:6000/base/v2/team/app",
        "https://origin.test:5000/v2/team/app",
    ]
    assert problems == []


def test_a_mirror_of_hosts_toml_carries_what_the_file_says(
    tmp_path: Path, problems: list[str]
) -> None:
    routing = hosts(tmp_path, problems, "example.test")
    mirror, nested, *_ = routing.endpoints(references.parse("example.test/app:1"))
    assert mirror.uses == {Use.PULL, Use.RESOLVE}
    assert mirror.headers == {"x-team": "a, b"}
    assert mirror.query == (("ns", "example.test"),)
    assert mirror.image == "mirror.test/app"
    assert nested.tls is False


def test_a_server_over_plain_http_is_the_registry_itself(
    tmp_path: Path, problems: list[str]
) -> None:
    text = 'server = "http://example.test:5000"'
    found = endpoint(hosts(tmp_path, problems, "_default", text), "example.test:5000/app:1")
    assert (found.url, found.is_mirror, found.query) == ("http://example.test:5000/v2", False, ())


def test_a_changed_file_is_read_again(tmp_path: Path, problems: list[str]) -> None:
    routing = hosts(tmp_path, problems, "a.test", 'server = "https://first.test"')
    assert places(routing, "a.test/app:1") == ["https://first.test/v2/app"]
    file = tmp_path / "a.test" / "hosts.toml"
    replacement = file.with_name("new")
    replacement.write_text('server = "https://second.test"')
    replacement.rename(file)
    assert places(routing, "a.test/app:1") == ["https://second.test/v2/app"]


def test_rules_without_a_server_are_for_the_registry_itself(
    tmp_path: Path, problems: list[str]
) -> None:
    text = 'skip_verify = true\n[header]\nx-team = "a"\n[host."https://m.test"]\n'
    routing = hosts(tmp_path, problems, "a.test", text)
    mirror, itself = routing.endpoints(references.parse("a.test/app:1"))
    assert (mirror.tls, mirror.headers) == (True, {})
    assert (itself.url, itself.tls) == ("https://a.test/v2", False)
    assert itself.headers == {"x-team": "a"}


@pytest.mark.parametrize("named", ["[]", '["Pull", "RESOLVE", "push"]'])
def test_capabilities_are_all_when_none_is_named_and_in_whatever_case(
    tmp_path: Path, problems: list[str], named: str
) -> None:
    text = f'[host."https://m.test"]\ncapabilities = {named}\n'
    assert endpoint(hosts(tmp_path, problems, "a.test", text), "a.test/app:1").uses == ALL_USES
    assert problems == []


@pytest.mark.parametrize("port", ["5000", "80"])
def test_rules_for_tls_at_a_plain_url_mean_that_tls_is_tried_first(
    tmp_path: Path, problems: list[str], port: str
) -> None:
    text = f'[host."http://m.test:{port}"]\nskip_verify = true\n'
    mirror = endpoint(hosts(tmp_path, problems, "a.test", text), "a.test/app:1")
    assert mirror.url == ("http://m.test/v2" if port == "80" else "https://m.test:5000/v2")
    assert mirror.may_be_plain_http == (port != "80")


@pytest.mark.parametrize("named", ["/etc/pki/own.pem", "../../../pki/own.pem"])
def test_files_that_hosts_toml_names_are_those_of_the_host(
    tmp_path: Path, problems: list[str], named: str
) -> None:
    (tmp_path / "etc" / "pki").mkdir(parents=True)
    (tmp_path / "etc" / "pki" / "own.pem").write_text(Authority().pem)
    folder = tmp_path / "etc" / "containerd" / "certs.d"
    (folder / "a.test").mkdir(parents=True)
    (folder / "a.test" / "hosts.toml").write_text(f'ca = "{named}"')
    routing = HostsFolders([folder], problems.append, host_root=tmp_path)
    tls = endpoint(routing, "a.test/app:1").tls
    assert problems == []
    assert isinstance(tls, ssl.SSLContext)
    assert any("test authority" in str(one["subject"]) for one in tls.get_ca_certs())


def test_a_certificate_that_cannot_be_read_is_reported(tmp_path: Path, problems: list[str]) -> None:
    (tmp_path / "a.test").mkdir()
    (tmp_path / "a.test" / "ca.crt").write_text("no certificate")
    assert endpoint(HostsFolders([tmp_path], problems.append), "a.test/app:1").tls is True
    assert "certificates cannot be used" in problems[0]


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        'server = "ftp://a.test"',
        'ca = "absent.crt"\nserver = "https://a.test"',
        '[host."https://m.test"]\ncapabilities = ["fly"]',
    ],
)
def test_a_hosts_toml_that_cannot_be_read_is_reported_and_ignored(
    tmp_path: Path, problems: list[str], text: str
) -> None:
    routing = hosts(tmp_path, problems, "a.test", text)
    assert places(routing, "a.test/app:1") == ["https://a.test/v2/app"]
    assert "hosts.toml" in problems[0]
