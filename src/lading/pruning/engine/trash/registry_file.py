"""A file in the trash repository: the ledger, a lock, records of the trash and their index."""

import contextlib

import msgspec

from lading.kernel import digests, manifests
from lading.kernel.digests import Digest
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration

FILE_BYTES_MAX = 256 * 1024 * 1024
FILE_TYPE = "application/vnd.lading.prune.ledger.v1+json"


class RegistryFile:
    """Implements the `StateFile` port with one tag of a repository."""

    def __init__(
        self,
        registry: RegistryAdministration,
        place: Reference,
        file_type: str = FILE_TYPE,
        *,
        bytes_max: int = FILE_BYTES_MAX,
    ) -> None:
        self._registry = registry
        self._place = place
        self._type = file_type
        self._bytes_max = bytes_max

    async def read(self) -> bytes | None:
        try:
            manifest = await self._registry.manifest(self._place)
        except registries.NotFound:
            return None
        try:
            (layer,) = msgspec.json.decode(manifest.content)["layers"]
            digest = digests.parse(layer["digest"])
        except (KeyError, TypeError, *UNREADABLE) as error:
            reason = "it is not a file of the pruner; delete the tag, then all ages begin again"
            raise Malformed(what="prune ledger", text=str(self._place), reason=reason) from error
        return await self._registry.blob(self._place, digest, bytes_max=self._bytes_max)

    async def replace(self, content: bytes) -> None:
        """The former file is deleted, else each run would leave one without a tag."""
        former = await self._registry.head(self._place)
        config = await self._registry.push_blob(self._place, b"{}")
        layer = await self._registry.push_blob(self._place, content)
        document = {
            "schemaVersion": 2,
            "mediaType": manifests.OCI_MANIFEST,
            "artifactType": self._type,
            "config": {
                "mediaType": "application/vnd.oci.empty.v1+json",
                "digest": str(config.digest),
                "size": config.size_bytes,
            },
            "layers": [
                {"mediaType": self._type, "digest": str(layer.digest), "size": layer.size_bytes}
            ],
            # Equal files of two tags must be two manifests: one is deleted without the other.
            "annotations": {"org.opencontainers.image.ref.name": self._place.tag},
        }
        encoded = msgspec.json.encode(document)
        own = Digest.of(encoded)
        await self._registry.push_manifest(
            self._place,
            Manifest(media_type=manifests.OCI_MANIFEST, digest=own, content=encoded),
        )
        if former is not None and former.digest != own:
            await self._delete(former.digest)

    async def remove(self) -> None:
        found = await self._registry.head(self._place)
        if found is not None:
            await self._delete(found.digest)

    async def _delete(self, digest: Digest) -> None:
        """What a registry does not delete stays as garbage."""
        with contextlib.suppress(registries.Unsupported, registries.Denied, registries.NotFound):
            await self._registry.delete(self._place.at(digest))
