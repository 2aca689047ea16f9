"""A registry behind a proxy that wants a password: it gets it, and no error shows it."""

import base64
import traceback

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.endpoints import DirectRouting
from lading.kernel import references
from lading.ports import registry
from tests.adapters.registry import hostile
from tests.adapters.registry.hostile import always, head, served, whole

IMAGE = references.parse("registry.example.com/app:v1")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (whole(b"", status="407 Proxy Authentication Required"), "407 Proxy Authentication"),
        (whole(b"x", status="502 Bad Gateway"), "502 Bad Gateway"),
        (b"garbage\r\n\r\n", "does not speak HTTP"),
        (b"", "Server disconnected"),
        (head("200 OK"), "cannot connect"),
    ],
)
async def test_no_error_shows_the_password_of_a_proxy(answer: bytes, reason: str) -> None:
    async with served(always(answer)) as proxy:
        environment = {"HTTPS_PROXY": f"http://me:canary@{proxy.host}"}
        async with registry_client.connect(
            SystemClock(), limits=hostile.SMALL, environment=environment
        ) as client:
            with pytest.raises(registry.RegistryError, match=reason) as caught:
                await client.manifest(IMAGE)
    assert proxy.received[0].method == "CONNECT"
    sent = proxy.received[0].headers["proxy-authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:canary"
    assert "canary" not in "".join(traceback.format_exception(caught.value))


async def test_a_proxy_that_is_no_url_is_named_by_its_variable() -> None:
    environment = {"HTTPS_PROXY": "http://me:canary@[bad"}
    async with registry_client.connect(SystemClock(), environment=environment) as client:
        with pytest.raises(registry.Blocked, match="HTTPS_PROXY is not the URL of a proxy"):
            await client.manifest(IMAGE)


async def test_a_plain_registry_is_asked_through_the_proxy_with_its_password() -> None:
    async with served(always(whole(b"", status="404 Not Found"))) as proxy:
        environment = {"HTTP_PROXY": f"http://me:canary@{proxy.host}"}
        routing = DirectRouting(plain_http_hosts=frozenset({"registry.example.com"}))
        async with registry_client.connect(
            SystemClock(), routing=routing, environment=environment
        ) as client:
            assert await client.head(IMAGE) is None
    [received] = proxy.received
    assert received.path.startswith("http://registry.example.com/v2/app/")
    assert base64.b64decode(received.headers["proxy-authorization"][6:]) == b"me:canary"
    assert "authorization" not in received.headers
