"""R12: which addresses of a registry are taken, and which are refused."""

import pytest

from lading.kernel.errors import Malformed
from lading.pruning.engine import registry_url
from lading.pruning.engine.registry_url import RegistryUrl


@pytest.mark.parametrize(
    ("text", "scheme", "host"),
    [
        ("localhost", "", "localhost"),
        ("localhost:5000", "", "localhost:5000"),
        ("http://localhost", "http", "localhost"),
        ("https://localhost:5000", "https", "localhost:5000"),
        ("registry.example.com", "", "registry.example.com"),
        ("registry.example.com:443/", "", "registry.example.com:443"),
        ("https://registry.example.com/", "https", "registry.example.com"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1:5000", "", "127.0.0.1:5000"),
        ("http://127.0.0.1:5000", "http", "127.0.0.1:5000"),
        ("[::1]", "", "[::1]"),
        ("[::1]:5000", "", "[::1]:5000"),
        ("https://[2001:db8::1]:5000/", "https", "[2001:db8::1]:5000"),
        ("a-b.c:1", "", "a-b.c:1"),
        ("X.example.com", "", "X.example.com"),
    ],
)
def test_good_addresses(text: str, scheme: str, host: str) -> None:
    assert registry_url.parse(text) == RegistryUrl(host=host, scheme=scheme)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        ":5000",
        "https://",
        "ftp://registry",
        "registry/path",
        "https://registry/path/",
        "registry?query",
        "registry#part",
        "user:password@registry",
        "registry:0",
        "registry:65536",
        "registry:port",
        "[::1",
        "-registry",
        "regi stry",
    ],
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(Malformed, match="registry URL"):
        registry_url.parse(text)
