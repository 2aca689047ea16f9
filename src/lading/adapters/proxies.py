"""Which proxy the environment wants for an address, as kubectl would understand it.

HTTPS_PROXY and HTTP_PROXY name it; NO_PROXY lists host names, domains, addresses and networks
that are reached directly. The machine itself is never reached through a proxy. The password of a
proxy is kept apart from its URL, which libraries show in their errors.
"""

import base64
import ipaddress
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from lading.kernel.values import Redacted


class Proxy(Redacted, frozen=True, kw_only=True):
    shown = ("url",)

    url: str
    headers: Mapping[str, str] = {}
    """What aiohttp's `proxy_headers` takes; it makes a Proxy-Authorization of the Authorization."""


class ProxyMalformed(ValueError):
    """The text that should name a proxy is not shown: it may hold a password."""


def proxy_for(url: str, environment: Mapping[str, str]) -> Proxy | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    name = f"{parts.scheme}_proxy"
    proxy = _variable(environment, name)
    if not proxy or _is_own_machine(host) or _is_excepted(host, environment):
        return None
    return parse(proxy if "://" in proxy else f"http://{proxy}", name=name.upper())


def parse(text: str, *, name: str) -> Proxy:
    """`name` is of the variable or field that holds the text."""
    malformed = ProxyMalformed(f"{name} is not the URL of a proxy")
    try:
        parts = urlsplit(text)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        raise malformed from None
    user = unquote(parts.username or "")
    if not parts.scheme or not parts.hostname or ":" in user:
        raise malformed
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    pair = f"{user}:{unquote(parts.password or '')}"
    secret = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Proxy(url=bare, headers={"Authorization": secret} if user else {})


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _is_own_machine(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _is_excepted(host: str, environment: Mapping[str, str]) -> bool:
    entries = _variable(environment, "no_proxy").split(",")
    return any(_excepts(entry.strip().lower(), host.lower()) for entry in entries)


def _excepts(entry: str, host: str) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    address = _address(host)
    if address is not None:
        return _network_contains(entry, address)
    domain = entry.removeprefix("*").removeprefix(".")
    return host == domain or host.endswith(f".{domain}")


def _network_contains(entry: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
