"""Which addresses are reached through the proxy of the environment, and which directly."""

import pytest

from lading.adapters import proxies


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
