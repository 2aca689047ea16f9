"""Tries a sweep on its own image before it touches another image.

The image is pushed, pulled, deleted, swept and pushed again through each replica. A replica that
cannot pull it then would also lose the images of users.
"""

import json
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports.registry import Manifest, RegistryError
from lading.ports.registry_administration import RegistryAdministration
from lading.ports.storage import Storage
from lading.pruning.engine.inventory.observe_storage import NoRegistry
from lading.pruning.sweep import layout, observe

PROBE_REPOSITORY = "lading/probe"
_TAG_PREFIX = "lading-probe-"
_TAG = re.compile(rf"{_TAG_PREFIX}[0-9a-f]{{16}}")
_BLOB_BYTES_MAX = 1024
_OFFLINE = "stop the registry or make it read-only, and use --offline"


class ProbeFailed(Exception):
    """The registry would lose an image that a user pushes again after a sweep."""


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """One process of the registry, by its own address."""

    registry: RegistryAdministration
    host: str

    def place(self, repository: str) -> Reference:
        return Reference(registry=self.host, repository=repository)


class _Image(msgspec.Struct, frozen=True):
    config: bytes
    layer: bytes
    manifest: Manifest
    tag: str

    @property
    def blobs(self) -> tuple[Digest, Digest]:
        return Digest.of(self.config), Digest.of(self.layer)


async def has_cache(storage: Storage, replica: Replica, repository: str) -> bool:
    """Whether the replica answers for deleted links. Raises if a sweep is not safe."""
    image = _image()
    await _remove_former(storage, repository)
    try:
        return await _Probe(storage, replica, repository, image).run()
    except RegistryError as error:
        raise ProbeFailed(
            f"{replica.host}: the probe image failed: {error}. Nothing is changed; let this account"
            f" push to {repository}, or {_OFFLINE}"
        ) from error
    finally:
        await _remove(storage, repository, image)


class _Probe(msgspec.Struct, frozen=True):
    storage: Storage
    replica: Replica
    repository: str
    image: _Image

    async def run(self) -> bool:
        await self._push()
        await self._pull()
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
        tagged = Reference(registry=place.registry, repository=place.repository, tag=self.image.tag)
        await self.replica.registry.push_manifest(tagged, self.image.manifest)

    async def _pull(self) -> None:
        place = self.replica.place(self.repository)
        registry, digest = self.replica.registry, self.image.manifest.digest
        await registry.manifest(
            Reference(registry=place.registry, repository=place.repository, digest=digest)
        )
        for one in self.image.blobs:
            await registry.blob(place, one, bytes_max=_BLOB_BYTES_MAX)

    async def _check_pull(self) -> None:
        try:
            await self._pull()
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
        """Deletes as a sweep does; the registry must no longer answer for the layer."""
        registry, place = self.replica.registry, self.replica.place(self.repository)
        config, layer = self.image.blobs
        await _delete(self.storage, [layout.layer_link(self.repository, str(config))])
        is_cached = await registry.has_blob(place, config)
        for digest in (config, layer):
            if is_cached:
                await unlink([self.replica], place.repository, digest)
            await _delete(self.storage, [layout.layer_link(self.repository, str(digest))])
        if await registry.has_blob(place, config) or await registry.has_blob(place, layer):
            raise ProbeFailed(
                f"{self.replica.host} answers from a cache for a layer that is deleted, and does"
                f" not delete it there. Enable deletion (storage.delete.enabled), or {_OFFLINE}"
            )
        return is_cached

    async def _clear(self) -> None:
        """Also removes the image from the cache of the registry."""
        for digest in (*self.image.blobs, self.image.manifest.digest):
            await unlink([self.replica], self.repository, digest)


async def unlink(replicas: Sequence[Replica], repository: str, digest: Digest) -> None:
    """Deletes a layer through each replica that answers for it, which clears its cache.

    A cache also answers for manifests as for layers. A replica without the link reports a failure,
    but clears its cache too.
    """
    for replica in replicas:
        place = replica.place(repository)
        try:
            if await replica.registry.has_blob(place, digest):
                await replica.registry.delete_blob(place, digest)
        except RegistryError:
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
        f"{_TAG_PREFIX}{secrets.token_hex(8)}",
    )


def _entry(content: bytes, media_type: str) -> dict[str, str | int]:
    found = Descriptor(media_type=media_type, digest=Digest.of(content), size_bytes=len(content))
    return {"mediaType": media_type, "digest": str(found.digest), "size": found.size_bytes}


async def _delete(storage: Storage, paths: Sequence[str]) -> None:
    """A storage that does not delete this object would not delete swept data either."""
    for error in (await storage.delete(paths)).values():
        raise error


async def _remove_former(storage: Storage, repository: str) -> None:
    """Removes tags and manifests of interrupted probes; a sweep frees their data."""
    tags = f"{layout.tags_folder(repository)}/"
    links = [one.path async for page in storage.pages(tags.rstrip("/")) for one in page]
    for path in links:
        tag, _, place = path.removeprefix(tags).partition("/")
        if not _TAG.fullmatch(tag):
            continue
        if place == "current/link" and (digest := await observe.read_link(storage, path)):
            await _delete(storage, [layout.revision_link(repository, digest)])
        await _delete(storage, [path])


async def _remove(storage: Storage, repository: str, image: _Image) -> None:
    """Removes only what the probe pushed, because the repository may have other images."""
    tags = layout.tags_folder(repository)
    tagged = [one.path async for page in storage.pages(f"{tags}/{image.tag}") for one in page]
    digests = [str(one) for one in (*image.blobs, image.manifest.digest)]
    paths = [layout.revision_link(repository, str(image.manifest.digest)), *tagged]
    paths += [layout.layer_link(repository, one) for one in digests]
    await _delete(storage, [*paths, *map(layout.data_path, digests)])
    folder = f"{layout.REPOSITORIES}/{repository}"
    is_empty = not [page async for page in storage.pages(folder) if page]
    await storage.remove_empty_folders(
        folder if is_empty else tags, before=datetime.max.replace(tzinfo=UTC)
    )
