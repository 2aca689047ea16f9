"""Which addresses are reached through the proxy of the environment, and which directly."""

import traceback

import aiohttp
import pytest

from lading.adapters import proxies
from lading.adapters.proxies import Proxy, ProxyMalformed


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
    expected = Proxy(url="http://proxy:3128") if proxied else None
    assert proxies.proxy_for(url, environment) == expected


@pytest.mark.parametrize(
    "text",
    [
        "http://me:canary%40x@proxy.example.com:3128",
        "me:canary%40x@proxy.example.com:3128",
        "http://me:canary%40x@proxy.example.com:3128/path?canary",
    ],
)
def test_a_password_is_kept_apart_from_the_url(text: str) -> None:
    proxy = proxies.proxy_for("https://api.example", {"HTTPS_PROXY": text})
    assert proxy is not None
    assert proxy.url == "http://proxy.example.com:3128"
    assert proxy.headers == {"Authorization": aiohttp.encode_basic_auth("me", "canary@x")}
    assert "canary" not in repr(proxy)


@pytest.mark.parametrize(
    "text", ["http://me:canary@[bad:1", "http://me:canary@h:no", "http://", "http://me:canary@"]
)
def test_what_is_no_url_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ProxyMalformed, match=r"^HTTPS_PROXY is not the URL of a proxy$") as caught:
        proxies.proxy_for("https://api.example", {"HTTPS_PROXY": text})
    assert "canary" not in "".join(traceback.format_exception(caught.value))
