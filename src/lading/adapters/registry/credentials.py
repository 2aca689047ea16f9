"""Who knows how to authenticate: the protocol of a source of credentials, and how sources combine.

A source finds what fits an endpoint, best first. It never sees a request and never sends anything.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from lading.adapters.registry import image_patterns
from lading.adapters.registry.endpoints import Endpoint
from lading.kernel.values import Redacted
from lading.ports.registry import Credential


class CredentialSource(Protocol):
    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        """What may be shown to this endpoint, the most specific first."""

    def forget(self, endpoint: Endpoint) -> bool:
        """Drops what was remembered for it; False when asking again cannot change anything."""


class Anonymous:
    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        return ()

    def forget(self, endpoint: Endpoint) -> bool:
        return False


class ExplicitCredential(msgspec.Struct, frozen=True):
    """A credential that came with the request: for the server that it names, else no mirror."""

    credential: Credential

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        if self.credential.server_address:
            is_meant = _host(self.credential.server_address) == _host(endpoint.server_address)
        else:
            is_meant = not endpoint.is_mirror
        return (self.credential,) if is_meant else ()

    def forget(self, endpoint: Endpoint) -> bool:
        return False


class Table(Redacted, frozen=True):
    """Credentials by pattern (`host`, `host:port`, `host/path`, `*.host`); the longest wins."""

    credential_by_pattern: Mapping[str, Credential]

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        fitting = [
            pattern
            for pattern in self.credential_by_pattern
            if image_patterns.matches(pattern, endpoint.image)
        ]
        fitting.sort(key=image_patterns.specificity, reverse=True)
        return tuple(self.credential_by_pattern[pattern] for pattern in fitting)

    def forget(self, endpoint: Endpoint) -> bool:
        return False


class Chain(msgspec.Struct, frozen=True):
    """Several sources, asked in order; what all of them know is tried."""

    sources: Sequence[CredentialSource]

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        found: list[Credential] = []
        for source in self.sources:
            found += [each for each in await source.find(endpoint) if each not in found]
        return tuple(found)

    def forget(self, endpoint: Endpoint) -> bool:
        forgotten = [source.forget(endpoint) for source in self.sources]
        return any(forgotten)


def _host(server_address: str) -> str:
    """Runtimes compare the host and its port, and not the scheme."""
    return server_address.rpartition("://")[2].partition("/")[0]
