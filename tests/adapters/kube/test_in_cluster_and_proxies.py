"""What a pod and an environment say about the way to the API server."""

from pathlib import Path

import pytest

from lading.adapters.kube import in_cluster, proxies
from lading.adapters.kube.connection import ConfigurationError

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    for name, content in (("token", "t"), ("ca.crt", "pem"), ("namespace", "lading\n")):
        (tmp_path / name).write_text(content)
    assert in_cluster.is_available(POD, tmp_path)
    connection = in_cluster.connection(POD, tmp_path)
    assert connection.server == "https://10.0.0.1:443"
    assert connection.trust.authority_pem == "pem"
    assert connection.user.token_file == str(tmp_path / "token")
    assert connection.namespace == "lading"


def test_an_ipv6_address_is_written_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("pem")
    environment = {**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert in_cluster.connection(environment, tmp_path).server == "https://[fd00::1]:443"


def test_outside_a_pod_it_says_so(tmp_path: Path) -> None:
    assert not in_cluster.is_available({}, tmp_path)
    assert not in_cluster.is_available(POD, tmp_path)
    with pytest.raises(ConfigurationError, match="this is not a pod"):
        in_cluster.connection({}, tmp_path)
    with pytest.raises(ConfigurationError, match=r"ca\.crt: cannot be read"):
        in_cluster.connection(POD, tmp_path)


@pytest.mark.parametrize(
    ("url", "exceptions", "proxied"),
    [
        ("https://api.example:6443", "", True),
        ("https://api.example:6443", "other.example", True),
        ("https://api.example:6443", "api.example", False),
        ("https://api.example:6443", ".example", False),
        ("https://api.example:6443", "*.example", False),
        ("https://notexample:6443", "example", True),
        ("https://api.example:6443", "*", False),
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "192.168.0.0/16, 10.1.2.3", False),
        ("https://11.1.2.3:6443", "10.0.0.0/8", True),
        ("https://127.0.0.1:6443", "", False),
        ("https://[::1]:6443", "", False),
        ("https://localhost:6443", "", False),
        ("http://api.example", "", False),
    ],
)
def test_the_environment_chooses_the_proxy(url: str, exceptions: str, proxied: bool) -> None:
    environment = {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": exceptions}
    expected = "http://proxy:3128" if proxied else None
    assert proxies.proxy_for(url, environment) == expected
