"""Where a registry may send us: redirects, upload locations, token realms.

A URL that another party names never weakens the transport (https to http), and never leads from
another machine to this one or to its link (loopback, link-local: metadata services live there).
Names are checked when they are resolved, so that the address checked is the address connected to.
"""

import ipaddress
import socket
import unicodedata

import aiohttp.abc
import yarl
from aiohttp.abc import ResolveResult
from aiohttp.resolver import DefaultResolver

from lading.ports import registry

SHOWN_CHARACTERS_MAX = 120
_NOWHERE = yarl.URL()


class LocalAddress(OSError):
    """A name that only has loopback or link-local addresses."""


def target(base: yarl.URL, location: str, *, what: str) -> yarl.URL:
    """The absolute URL of a Location header that `base` answered with."""
    try:
        found = base.join(yarl.URL(location, encoded=True)) if location else _NOWHERE
    except ValueError:
        found = _NOWHERE
    return _checked(base, found, location, what=what)


def realm(base: yarl.URL, text: str, *, what: str) -> yarl.URL:
    """The URL of a token realm that `base` named; it must be whole."""
    try:
        found = yarl.URL(text)
    except ValueError:
        found = _NOWHERE
    return _checked(base, found, text, what=what)


def _checked(base: yarl.URL, found: yarl.URL, text: str, *, what: str) -> yarl.URL:
    if found.scheme not in ("http", "https") or not _host(found):
        raise registry.MalformedAnswer(f"{what}: {_shown(text)} is not an http or https URL")
    if base.scheme == "https" and found.scheme == "http":
        message = f"{what}: {base.host} refers to {_shown(text)}, which is not encrypted"
        raise registry.MalformedAnswer(message)
    if is_local(_host(found)) and not is_local(_host(base)):
        message = f"{what}: {base.host} refers to {_shown(text)}, an address of this machine"
        raise registry.MalformedAnswer(message)
    return found


def _host(url: yarl.URL) -> str:
    """Empty also for a host that is no name: yarl looks at it only now."""
    try:
        return url.host or ""
    except ValueError:
        return ""


def is_remote_only(base: yarl.URL, found: yarl.URL) -> bool:
    """Whether a name that `base` named must not resolve to an address of this machine.

    Its own name may: a registry of this machine can have any name.
    """
    return _host(found) != _host(base) and not is_local(_host(base))


def is_local(host: str) -> bool:
    """Whether the host is this machine or its link, as far as its name tells."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return _is_local_address(host)
    except ValueError:
        return False


def same_origin(one: yarl.URL, other: yarl.URL) -> bool:
    """Whatever the case of the host, and with or without the port that is the default."""
    return _origin(one) == _origin(other)


def _origin(url: yarl.URL) -> tuple[str, str, int | None]:
    return url.scheme, _host(url).lower(), url.port


def _is_local_address(text: str) -> bool:
    address = _address(text.strip("[]"))
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_link_local or address.is_unspecified


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Also in the forms that the C library and proxies take: `2130706433`, `0x7f.1`, `127.1`."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    plain = unicodedata.normalize("NFKC", text).replace("。", ".")
    try:
        packed = socket.inet_aton(plain.rstrip("."))
    except (OSError, UnicodeError):
        raise ValueError(f"{text!r} is no address") from None
    return ipaddress.IPv4Address(packed)


class RemoteResolver(aiohttp.abc.AbstractResolver):
    """Resolves names of other machines only."""

    def __init__(self, resolver: aiohttp.abc.AbstractResolver | None = None) -> None:
        self._resolver = resolver or DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        remote = [each for each in found if not _is_local_address(each["host"])]
        if not remote:
            raise LocalAddress(f"{host} is an address of this machine")
        return remote

    async def close(self) -> None:
        await self._resolver.close()


def _shown(url: str) -> str:
    """Without the query: a signed URL is a secret."""
    return repr(url.partition("?")[0][:SHOWN_CHARACTERS_MAX])
