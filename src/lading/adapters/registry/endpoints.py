"""Where a reference is asked for: the registry itself, or mirrors before it.

A `Routing` turns a reference into endpoints, in the order in which to try them. Without any
configuration there is only the registry itself: over HTTPS, and over plain HTTP on this machine.
"""

import ipaddress
import ssl
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

import msgspec

from lading.kernel import references
from lading.kernel.references import DOCKER_HUB, DOCKER_HUB_API, Reference
from lading.kernel.values import replace
from lading.ports.registry import RegistryError


class Use(StrEnum):
    RESOLVE = "resolve"  # from a tag to a digest
    PULL = "pull"
    PUSH = "push"


ALL_USES = frozenset(Use)


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One base URL that serves a repository, and by which name its credentials are known."""

    url: str
    """Up to and including the API's root, without a slash at the end: `https://host/v2`."""
    host: str
    repository: str
    is_mirror: bool = False
    tls: ssl.SSLContext | bool = True
    """True verifies with the system's authorities, False verifies nothing."""
    may_be_plain_http: bool = False
    """Plain HTTP is good enough where TLS is not spoken at all."""
    uses: frozenset[Use] = ALL_USES
    headers: Mapping[str, str] = {}
    query: tuple[tuple[str, str], ...] = ()

    @property
    def image(self) -> str:
        """The name that credentials are looked up by."""
        return f"{self.host}/{self.repository}"

    @property
    def server_address(self) -> str:
        """Scheme, host and port as they are written, which is how runtimes compare them."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    @property
    def is_verified(self) -> bool:
        """Whether the other side must prove with a certificate that it is the host."""
        if isinstance(self.tls, ssl.SSLContext):
            proves = self.tls.verify_mode is ssl.CERT_REQUIRED and self.tls.check_hostname
        else:
            proves = self.tls
        return proves and self.url.startswith("https://")

    def over_plain_http(self) -> "Endpoint":
        url = f"http://{self.url.removeprefix('https://')}"
        return replace(self, url=url, may_be_plain_http=False)

    def resource(self, path: str) -> str:
        return f"{self.url}/{self.repository}/{path}"


class Routing(Protocol):
    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        """At least one; raises Blocked when the configuration forbids the registry."""


class DirectRouting(msgspec.Struct, frozen=True):
    """Every registry under its own name; plain HTTP for these hosts and for this machine."""

    plain_http_hosts: frozenset[str] = frozenset()

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        host = required_registry(reference)
        plain = host in self.plain_http_hosts or is_loopback(host)
        scheme = "http" if plain else "https"
        return (endpoint_at(host, reference.repository, scheme=scheme),)


def endpoint_at(
    host: str,
    repository: str,
    *,
    scheme: str = "https",
    is_mirror: bool = False,
    insecure: bool = False,
) -> Endpoint:
    """An endpoint in the usual place of a host; knows the two oddities of Docker Hub.

    An insecure one is not verified, and reached over plain HTTP when it speaks no TLS.
    """
    api_host = host
    if host == DOCKER_HUB:
        api_host = DOCKER_HUB_API
        repository = references.docker_hub_path(repository)
    return Endpoint(
        url=f"{scheme}://{api_host}/v2",
        host=host,
        repository=repository,
        tls=not insecure,
        may_be_plain_http=insecure,
        is_mirror=is_mirror,
    )


def required_registry(reference: Reference) -> str:
    if reference.registry is None:
        raise RegistryError(
            f"{reference} names no registry; write its full name, such as {DOCKER_HUB}/{reference}"
        )
    return reference.registry


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
