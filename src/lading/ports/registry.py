"""An OCI registry as the features see it: whole verified manifests, verified streams of blobs.

RegistryError             a registry or its connection failed; names the registry and the object
├── Transient             worth trying again as it is
│   ├── Unavailable       5xx, connection refused or lost, no answer in time
│   ├── TooManyRequests   429
│   └── NoProgress        the body stopped arriving, or arrives too slowly to ever end
├── NotFound              404: no such repository, tag, manifest or blob
├── Unauthorized          401, also with the best credential we have
├── Denied                403
├── Untrusted             its certificate cannot be verified
├── Blocked               our own configuration forbids this registry
├── NoMatchingPlatform    the image exists, for other platforms only
├── DigestMismatch        the content is not what its digest says
├── SizeMismatch          the content ended early, or went on after its declared size
├── TooLarge              more than the limit, or than what the registry itself accepts
├── MalformedAnswer       not what the protocol allows: bad JSON, redirect loop, missing header
└── Unsupported           the registry does not implement the request
"""

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Protocol

import msgspec

from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.kernel.values import Redacted


class RegistryError(Exception):
    """`status` is the HTTP code, 0 if there was no answer."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class Transient(RegistryError):
    """`retry_after_seconds` is what the registry asked for, None when it did not say."""

    def __init__(
        self, message: str, *, status: int = 0, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(message, status=status)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(Transient):
    pass


class TooManyRequests(Transient):
    pass


class NoProgress(Transient):
    pass


class NotFound(RegistryError):
    pass


class Unauthorized(RegistryError):
    pass


class Denied(RegistryError):
    pass


class Untrusted(RegistryError):
    pass


class Blocked(RegistryError):
    pass


class NoMatchingPlatform(RegistryError):
    pass


class DigestMismatch(RegistryError):
    pass


class SizeMismatch(RegistryError):
    pass


class TooLarge(RegistryError):
    pass


class MalformedAnswer(RegistryError):
    pass


class Unsupported(RegistryError):
    pass


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The exact bytes of a manifest or index; `digest` was computed from them."""

    media_type: str
    digest: Digest
    content: bytes


class Credential(Redacted, frozen=True, kw_only=True):
    """How to authenticate to one registry; secrets never appear in its text."""

    shown = ("username", "server_address")

    username: str = ""
    password: str = ""
    identity_token: str = ""
    """An OAuth2 refresh token that is exchanged for access tokens."""
    registry_token: str = ""
    """A bearer token that is sent as it is."""
    server_address: str = ""
    """The one server that may see it, as `https://registry.example.com`; empty for no limit."""
    only_to: tuple[str, ...] | None = None
    """Set for the token of a cluster: the hosts of its own registry, which alone may get it.

    They get it over verified TLS, and a token realm only at the same address. None for a login,
    which is made for a registry and for the token realm that the registry names.
    """


class Registry(Protocol):
    """Refuses references without a registry."""

    async def manifest(self, reference: Reference) -> Manifest:
        """The manifest or index, its digest verified; by digest when the reference has one."""

    async def head(self, reference: Reference) -> Descriptor | None:
        """The manifest that the tag or digest names now; None if there is none."""

    def blob(
        self, repository: Reference, descriptor: Descriptor, *, offset: int = 0
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of a blob from `offset` on, resumed by itself when a connection is lost.

        The size is always verified, and the digest when read from the start; the last piece is
        only handed out once it holds. With an offset, the caller has the first part and
        verifies the whole. Close it with `aclose` when reading stops early.
        """

    async def tags(self, repository: Reference) -> tuple[str, ...]: ...

    async def push_blob(
        self, repository: Reference, descriptor: Descriptor, content: AsyncIterable[bytes]
    ) -> None: ...

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> Descriptor: ...

    def with_credential(self, credential: Credential) -> "Registry":
        """The same client with this credential instead of the configured ones."""
