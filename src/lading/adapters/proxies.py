"""Which proxy the environment wants for an address, as kubectl would understand it.

HTTPS_PROXY and HTTP_PROXY name it; NO_PROXY lists host names, domains, addresses and networks
that are reached directly. The machine itself is never reached through a proxy.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxy = _variable(environment, f"{parts.scheme}_proxy")
    if not proxy or _is_own_machine(host) or _is_excepted(host, environment):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


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
