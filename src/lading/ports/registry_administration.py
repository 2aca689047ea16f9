"""A registry as the pruner sees it: complete lists, manifests of any form, deletion.

Every request goes to the registry itself, never to a mirror. It raises the errors of
`ports.registry`.
"""

from datetime import datetime
from typing import Protocol

from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports.registry import Manifest


class RegistryAdministration(Protocol):
    async def server_time(self, registry: str) -> datetime | None:
        """The clock of the registry (its Date header); None when it does not say."""

    async def catalogue(self, registry: str) -> tuple[str, ...]:
        """Every repository; a list that breaks off is an error."""

    async def tags(self, repository: Reference) -> tuple[str, ...]:
        """Every tag; none for a repository that does not exist."""

    async def head(self, reference: Reference) -> Descriptor | None:
        """The manifest that the tag or digest names now; None if there is none."""

    async def manifest(self, reference: Reference) -> Manifest:
        """The exact bytes, whatever their form; only the digest is verified."""

    async def tagged_manifest(self, reference: Reference) -> Manifest:
        """The same of a tag, with the digest that the registry states for it; an error without."""

    async def referrers(self, reference: Reference) -> tuple[Descriptor, ...] | None:
        """What is attached to the digest; None where the registry has no such list."""

    async def blob(self, repository: Reference, digest: Digest, *, bytes_max: int) -> bytes:
        """A small blob, whole and verified."""

    async def has_blob(self, repository: Reference, digest: Digest) -> bool:
        """Whether the registry would send the blob; it may answer from its cache."""

    async def push_blob(self, repository: Reference, content: bytes) -> Descriptor: ...

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> None: ...

    async def mount_blob(self, target: Reference, digest: Digest, *, source: Reference) -> bool:
        """Makes a blob of one repository part of another; False when the registry does not."""

    async def copy_blob(
        self, target: Reference, descriptor: Descriptor, *, source: Reference
    ) -> None:
        """Downloads the blob and uploads it to the target."""

    async def delete(self, reference: Reference) -> bool:
        """Deletes a tag, or a manifest by its digest; False when it is not there."""

    async def delete_blob(self, repository: Reference, digest: Digest) -> bool:
        """Deletes the link of a layer in a repository; False when it is not there."""

    async def delete_blob_everywhere(self, registry: str, digest: Digest) -> bool:
        """Deletes the data of a blob; only the registry of OpenShift can."""
