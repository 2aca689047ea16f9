"""A state file in the trash repository, for runs without --state-dir."""

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

    def __init__(self, registry: RegistryAdministration, place: Reference) -> None:
        self._registry = registry
        self._place = place

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
        return await self._registry.blob(self._place, digest, bytes_max=FILE_BYTES_MAX)

    async def replace(self, content: bytes) -> None:
        config = await self._registry.push_blob(self._place, b"{}")
        layer = await self._registry.push_blob(self._place, content)
        document = {
            "schemaVersion": 2,
            "mediaType": manifests.OCI_MANIFEST,
            "artifactType": FILE_TYPE,
            "config": {
                "mediaType": "application/vnd.oci.empty.v1+json",
                "digest": str(config.digest),
                "size": config.size_bytes,
            },
            "layers": [
                {"mediaType": FILE_TYPE, "digest": str(layer.digest), "size": layer.size_bytes}
            ],
        }
        encoded = msgspec.json.encode(document)
        await self._registry.push_manifest(
            self._place,
            Manifest(media_type=manifests.OCI_MANIFEST, digest=Digest.of(encoded), content=encoded),
        )
