"""Refuses requests that a web page made a browser send to a server on this machine or network.

By the Host header: a page can point its own name at our address (DNS rebinding), but a browser
then sends that name. By the Origin header: a browser names the page that asks. Programs send no
Origin, and reach a server by an address or by a name that was given to it.
"""

import ipaddress
from collections.abc import Iterable
from typing import Self
from urllib.parse import urlsplit

import msgspec

LOOPBACK_NAMES = ("localhost", ".localhost")


class HostGuard(msgspec.Struct, frozen=True):
    """Lets IP addresses pass, and these names; one that begins with a dot is a whole domain."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        return cls((*LOOPBACK_NAMES, *(name.lower().rstrip(".") for name in names if name)))

    def refusal(self, *, host: str | None, origin: str | None) -> str:
        """Why the request is refused; empty if it is allowed. Every browser sends Host."""
        if host is not None and not self._allows(host):
            return f"the host {_shown(host)} is not a name of this server"
        if origin is not None and not _is_same(origin, host):
            return f"requests from the web page {_shown(origin)} are not allowed"
        return ""

    def _allows(self, host: str) -> bool:
        name = _name(host)
        return _is_address(name) or any(
            name.endswith(allowed) if allowed.startswith(".") else name == allowed
            for allowed in self.names
        )


def _name(host: str) -> str:
    """The host without its port; empty if no browser would send it."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_same(origin: str, host: str | None) -> bool:
    """A page of this server may send requests to it."""
    try:
        return bool(host) and urlsplit(origin).netloc.lower() == (host or "").lower()
    except ValueError:
        return False


def _shown(text: str) -> str:
    return repr(text[:100])
