"""Tries a sweep on an image of its own before any other is touched.

The image is pushed, pulled, deleted, swept and pushed again through each replica. One that then
cannot pull it would lose the images of others in the same way.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest, RegistryError
from lading.ports.registry_administration import RegistryAdministration
from lading.ports.storage import Storage
from lading.pruning.engine.observe_storage import NoRegistry
from lading.pruning.sweep import layout

_TAG = "probe"
_BLOB_BYTES_MAX = 1024
_OFFLINE = "stop the registry or make it read-only, and use --offline"


class ProbeFailed(Exception):
    """The registry would lose an image that is pushed again after a sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One process of the registry, by its own address."""

    registry: RegistryAdministration
    host: str

    def place(self, repository: str) -> Reference:
        return Reference(registry=self.host, repository=repository)


@dataclass(frozen=True, slots=True)
class _Image:
    config: bytes
    layer: bytes
    manifest: Manifest

    @property
    def blobs(self) -> tuple[Digest, Digest]:
        return Digest.of(self.config), Digest.of(self.layer)


async def has_cache(storage: Storage, replica: Replica, repository: str) -> bool:
    """Whether the replica answers for links that are gone; an error when a sweep would not do."""
    image = _image()
    try:
        return await _Probe(storage, replica, repository, image).run()
    except RegistryError as error:
        raise ProbeFailed(
            f"{replica.host}: the probe image failed: {error}. Nothing is changed; {_OFFLINE}, or"
            " name a repository that may be pushed to with --probe-repository"
        ) from error
    finally:
        await _remove(storage, repository, image)


@dataclass(frozen=True, slots=True)
class _Probe:
    storage: Storage
    replica: Replica
    repository: str
    image: _Image

    async def run(self) -> bool:
        await self._push()
        await self._check_pull()
        await self._check_storage()
        is_cached = await self._unlink()
        await _remove(self.storage, self.repository, self.image)
        await self._push()
        await self._check_pull()
        await self._clear()
        return is_cached

    async def _push(self) -> None:
        place = self.replica.place(self.repository)
        for content in (self.image.config, self.image.layer):
            await self.replica.registry.push_blob(place, content)
        tagged = Reference(registry=place.registry, repository=place.repository, tag=_TAG)
        await self.replica.registry.push_manifest(tagged, self.image.manifest)

    async def _check_pull(self) -> None:
        place = self.replica.place(self.repository)
        registry, manifest = self.replica.registry, self.image.manifest
        try:
            await registry.manifest(
                Reference(
                    registry=place.registry, repository=place.repository, digest=manifest.digest
                )
            )
            for digest in self.image.blobs:
                await registry.blob(place, digest, bytes_max=_BLOB_BYTES_MAX)
        except RegistryError as error:
            raise ProbeFailed(
                f"{self.replica.host} accepted the probe image again after it was swept, and cannot"
                f" send it ({error}). Its cache of blob descriptors loses images; {_OFFLINE}"
            ) from error

    async def _check_storage(self) -> None:
        (_, layer) = self.image.blobs
        if await self.storage.head(layout.data_path(str(layer))) is None:
            raise NoRegistry(
                f"what is pushed to {self.replica.host} does not arrive in this storage: it is the"
                " storage of another registry. Nothing is changed"
            )

    async def _unlink(self) -> bool:
        """As a sweep does it; the registry must no longer answer for the layer."""
        registry, place = self.replica.registry, self.replica.place(self.repository)
        config, layer = self.image.blobs
        await self.storage.delete([layout.layer_link(self.repository, str(config))])
        is_cached = await registry.has_blob(place, config)
        for digest in (config, layer):
            if is_cached:
                await unlink([self.replica], place.repository, digest)
            await self.storage.delete([layout.layer_link(self.repository, str(digest))])
        if await registry.has_blob(place, config) or await registry.has_blob(place, layer):
            raise ProbeFailed(
                f"{self.replica.host} answers from a cache for a layer that is deleted, and does"
                f" not delete it there. Enable deletion (storage.delete.enabled), or {_OFFLINE}"
            )
        return is_cached

    async def _clear(self) -> None:
        """So that the cache of the registry does not know the image either."""
        for digest in self.image.blobs:
            await unlink([self.replica], self.repository, digest)


async def unlink(replicas: Sequence[Replica], repository: str, digest: Digest) -> None:
    """Deletes a layer through each replica that answers for it, which makes it forget the layer.

    A cache has manifests as well, and answers for them as for layers. A replica that finds no link
    of a layer by then reports a failure, and has forgotten the digest all the same.
    """
    for replica in replicas:
        place = replica.place(repository)
        try:
            if await replica.registry.has_blob(place, digest):
                await replica.registry.delete_blob(place, digest)
        except (registries.Unavailable, registries.Unsupported):
            continue  # a sweep asks the replica again before the data goes


def _image() -> _Image:
    config, layer = (secrets.token_hex(16).encode() for _ in range(2))
    document = {
        "schemaVersion": 2,
        "mediaType": manifests.OCI_MANIFEST,
        "config": _entry(config, manifests.OCI_CONFIG),
        "layers": [_entry(layer, manifests.OCI_LAYER_GZIP)],
    }
    content = json.dumps(document).encode()
    return _Image(
        config,
        layer,
        Manifest(media_type=manifests.OCI_MANIFEST, digest=Digest.of(content), content=content),
    )


def _entry(content: bytes, media_type: str) -> dict[str, str | int]:
    found = Descriptor(media_type=media_type, digest=Digest.of(content), size_bytes=len(content))
    return {"mediaType": media_type, "digest": str(found.digest), "size": found.size_bytes}


async def _remove(storage: Storage, repository: str, image: _Image) -> None:
    """The repository and the data; nothing else uses either."""
    folder = f"{layout.REPOSITORIES}/{repository}"
    paths = [one.path async for page in storage.pages(folder) for one in page]
    digests = (*image.blobs, image.manifest.digest)
    await storage.delete([*paths, *(layout.data_path(str(one)) for one in digests)])
    for prefix in (folder, *(_blob_folder(str(one)) for one in digests)):
        await storage.remove_empty_folders(prefix, before=datetime.max.replace(tzinfo=UTC))


def _blob_folder(digest: str) -> str:
    return layout.data_path(digest).rpartition("/")[0]
