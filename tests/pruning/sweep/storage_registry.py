"""A registry on a storage that does what distribution does, step by step, with its cache.

An upload of data that is there only writes a link; a manifest needs links to what it names; with
a cache a descriptor that was seen once is answered without a look at the storage.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.pruning.engine.inventory import observe_storage
from lading.pruning.sweep import layout
from tests.pruning.sweep.memory_storage import MemoryStorage


@dataclass
class StorageRegistry:
    """Implements what a sweep uses of `RegistryAdministration`."""

    storage: MemoryStorage
    has_cache: bool = False
    puts_trust_cache: bool = False
    """As 2.8: a manifest in the cache is not written again."""
    can_delete: bool = True
    _cache: set[tuple[str, str]] = field(default_factory=set)
    _known_data: set[str] = field(default_factory=set)

    def write(self, path: str, content: bytes) -> None:
        self.storage.objects[path] = content, self.storage.now

    def has(self, path: str) -> bool:
        return path in self.storage.objects

    async def has_blob(self, repository: Reference, digest: Digest) -> bool:
        return self._has(repository.repository, str(digest))

    def _has(self, name: str, digest: str) -> bool:
        if (name, digest) in self._cache:
            return True
        link = self.storage.objects.get(layout.layer_link(name, digest))
        found = link is not None and self.has(layout.data_path(link[0].decode()))
        if found and self.has_cache:
            self._cache.add((name, digest))
        return found

    def upload(self, name: str, content: bytes) -> str:
        digest = str(Digest.of(content))
        if not self.has(layout.data_path(digest)):
            self.write(layout.data_path(digest), content)
        self.write(layout.layer_link(name, digest), digest.encode())
        if self.has_cache:
            self._cache.add((name, digest))
        return digest

    def mount(self, name: str, digest: str, *, source: str) -> bool:
        if not self._has(source, digest):
            return False
        self.write(layout.layer_link(name, digest), digest.encode())
        return True

    def put_manifest(self, name: str, content: bytes, tag: str = "") -> str:
        digest = str(Digest.of(content))
        document = json.loads(content)
        for entry in (document.get("config"), *document.get("layers", ())):
            if entry is not None and not self._has(name, entry["digest"]):
                raise registries.MalformedAnswer("MANIFEST_BLOB_UNKNOWN", status=400)
        for entry in document.get("manifests", ()):
            if not self._has_manifest(name, entry["digest"]):
                raise registries.MalformedAnswer("MANIFEST_UNKNOWN", status=400)
        if not (self.puts_trust_cache and digest in self._known_data) and not self.has(
            layout.data_path(digest)
        ):
            self.write(layout.data_path(digest), content)
        self._known_data.add(digest)
        self.write(observe_storage.revision_link(name, digest), digest.encode())
        if self.has_cache:
            self._cache.add((name, digest))
        if tag:
            self.tag(name, tag, digest)
        return digest

    def _has_manifest(self, name: str, digest: str) -> bool:
        """Layers and manifests of a repository share one cache."""
        is_known = self.has(observe_storage.revision_link(name, digest))
        return is_known or (name, digest) in self._cache

    def tag(self, name: str, tag: str, digest: str) -> None:
        folder = f"{layout.tags_folder(name)}/{tag}"
        algorithm, _, encoded = digest.partition(":")
        self.write(f"{folder}/index/{algorithm}/{encoded}/link", digest.encode())
        self.write(observe_storage.tag_link(name, tag), digest.encode())

    def untag(self, name: str, tag: str) -> None:
        self._remove_all(f"{layout.tags_folder(name)}/{tag}")

    def delete_manifest(self, name: str, digest: str) -> None:
        self._cache.discard((name, digest))
        self.storage.objects.pop(observe_storage.revision_link(name, digest))
        for path, (content, _) in list(self.storage.objects.items()):
            is_tag = path.startswith(layout.tags_folder(name)) and path.endswith("/current/link")
            if is_tag and content.decode() == digest:
                self._remove_all(path.removesuffix("/current/link"))

    def _remove_all(self, folder: str) -> None:
        for path in [one for one in self.storage.objects if one.startswith(f"{folder}/")]:
            del self.storage.objects[path]

    def image(self, name: str, tag: str = "", layers: Sequence[bytes] = (b"layer",)) -> str:
        """Pushed whole, with a configuration of its own."""
        config = self.upload(name, f"config {layers!r}".encode())
        entries = [self.upload(name, one) for one in layers]
        return self.put_manifest(name, image_content(config, entries), tag)

    def index(self, name: str, children: Sequence[str], tag: str = "", **more: Any) -> str:
        document = {
            "schemaVersion": 2,
            "mediaType": manifests.OCI_INDEX,
            "manifests": [{"digest": one, "size": 1} for one in children],
            **more,
        }
        return self.put_manifest(name, json.dumps(document).encode(), tag)

    def can_pull(self, name: str, digest: str) -> bool:
        """With everything that it needs, from the storage and not from a cache."""
        link = self.storage.objects.get(observe_storage.revision_link(name, digest))
        if link is None or not self.has(layout.data_path(link[0].decode())):
            return False
        document = json.loads(self.storage.objects[layout.data_path(link[0].decode())][0])
        blobs = [one["digest"] for one in document.get("layers", ())]
        blobs += [document["config"]["digest"]] if "config" in document else []
        return all(
            self.has(layout.layer_link(name, one)) and self.has(layout.data_path(one))
            for one in blobs
        ) and all(self.can_pull(name, one["digest"]) for one in document.get("manifests", ()))

    async def push_blob(self, repository: Reference, content: bytes) -> Descriptor:
        self.upload(repository.repository, content)
        return Descriptor(media_type="", digest=Digest.of(content), size_bytes=len(content))

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> None:
        self.put_manifest(reference.repository, manifest.content, reference.tag or "")

    async def manifest(self, reference: Reference) -> Manifest:
        digest = str(reference.digest)
        path = layout.data_path(digest)
        link = observe_storage.revision_link(reference.repository, digest)
        if not self.has(link) or not self.has(path):
            raise registries.NotFound(f"{reference}: MANIFEST_UNKNOWN", status=404)
        assert reference.digest is not None
        return Manifest(
            media_type="", digest=reference.digest, content=self.storage.objects[path][0]
        )

    async def blob(self, repository: Reference, digest: Digest, *, bytes_max: int) -> bytes:
        path = layout.data_path(str(digest))
        if not self._has(repository.repository, str(digest)) or not self.has(path):
            raise registries.NotFound(f"{digest}: BLOB_UNKNOWN", status=404)
        return self.storage.objects[path][0]

    async def delete_blob(self, repository: Reference, digest: Digest) -> bool:
        if not self.can_delete:
            raise registries.Unsupported("405", status=405)
        name = repository.repository
        known = self._has(name, str(digest))
        self._cache.discard((name, str(digest)))
        self.storage.objects.pop(layout.layer_link(name, str(digest)), None)
        return known


def image_content(config: str, layers: Sequence[str], **more: Any) -> bytes:
    document = {
        "schemaVersion": 2,
        "mediaType": manifests.OCI_MANIFEST,
        "config": {"mediaType": manifests.OCI_CONFIG, "digest": config, "size": 1},
        "layers": [
            {"mediaType": manifests.OCI_LAYER_GZIP, "digest": one, "size": 1} for one in layers
        ],
        **more,
    }
    return json.dumps(document).encode()
