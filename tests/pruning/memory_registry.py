"""A registry in memory with the habits of distribution, and a call that can be made to fail.

A deletion by digest takes the tags along, a manifest is accepted only when the repository has what
it needs, and a layer can be read only where it is linked.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest


class Crash(BaseException):
    """The process ends here."""


@dataclass
class Repository:
    manifests: dict[str, Manifest] = field(default_factory=dict)
    blobs: set[str] = field(default_factory=set)
    tags: dict[str, str] = field(default_factory=dict)
    subjects: dict[str, str] = field(default_factory=dict)
    """By digest of a referrer; what was deleted may be in it."""


@dataclass
class MemoryRegistry:
    repositories: dict[str, Repository] = field(default_factory=dict)
    data: dict[str, bytes] = field(default_factory=dict)
    deletes_tags: bool = True
    has_referrers: bool = True
    before_call: Callable[[int, str], None] = lambda _number, _method: None
    after_call: Callable[[int, str], None] = lambda _number, _method: None
    calls: int = 0
    methods: list[str] = field(default_factory=list)

    def begin(self, method: str) -> int:
        self.calls += 1
        self.methods.append(method)
        self.before_call(self.calls, method)
        return self.calls

    def end(self, number: int, method: str) -> None:
        self.after_call(number, method)

    def _at(self, reference: Reference) -> Repository:
        return self.repositories.setdefault(reference.repository, Repository())

    def _digest(self, reference: Reference) -> str | None:
        place = self._at(reference)
        wanted = str(reference.digest) if reference.digest else place.tags.get(reference.tag or "")
        return wanted if wanted in place.manifests else None

    async def server_time(self, registry: str) -> datetime | None:
        return datetime(2026, 11, 1, tzinfo=UTC)

    async def catalogue(self, registry: str) -> tuple[str, ...]:
        self.begin("GET")
        return tuple(self.repositories)

    async def tags(self, repository: Reference) -> tuple[str, ...]:
        self.begin("GET")
        return tuple(sorted(self._at(repository).tags))

    async def head(self, reference: Reference) -> Descriptor | None:
        self.begin("HEAD")
        digest = self._digest(reference)
        if digest is None:
            return None
        manifest = self._at(reference).manifests[digest]
        return Descriptor(
            media_type=manifest.media_type,
            digest=manifest.digest,
            size_bytes=len(manifest.content),
        )

    async def manifest(self, reference: Reference) -> Manifest:
        self.begin("GET")
        digest = self._digest(reference)
        if digest is None:
            raise registries.NotFound(f"{reference}: 404", status=404)
        return self._at(reference).manifests[digest]

    async def tagged_manifest(self, reference: Reference) -> Manifest:
        assert reference.tag, "it is asked by a tag"
        return await self.manifest(reference)

    async def referrers(self, reference: Reference) -> tuple[Descriptor, ...] | None:
        self.begin("GET")
        if not self.has_referrers:
            return None
        place = self._at(reference)
        return tuple(
            Descriptor(media_type="", digest=place.manifests[one].digest, size_bytes=1)
            for one, subject in place.subjects.items()
            if subject == str(reference.digest) and one in place.manifests
        )

    async def blob(self, repository: Reference, digest: Digest, *, bytes_max: int) -> bytes:
        self.begin("GET")
        if str(digest) not in self._at(repository).blobs:
            raise registries.NotFound(f"{digest}: 404", status=404)
        return self.data[str(digest)]

    async def has_blob(self, repository: Reference, digest: Digest) -> bool:
        self.begin("HEAD")
        return str(digest) in self._at(repository).blobs

    async def push_blob(self, repository: Reference, content: bytes) -> Descriptor:
        number = self.begin("PUT")
        digest = Digest.of(content)
        self.data[str(digest)] = content
        self._at(repository).blobs.add(str(digest))
        self.end(number, "PUT")
        return Descriptor(media_type="", digest=digest, size_bytes=len(content))

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> None:
        number = self.begin("PUT")
        place = self._at(reference)
        document = json.loads(manifest.content)
        needed = [document["config"]] if "config" in document else []
        for entry in (*needed, *document.get("layers", ())):
            is_elsewhere = "foreign" in entry.get("mediaType", "")
            if entry["digest"] not in place.blobs and not is_elsewhere:
                raise registries.MalformedAnswer("MANIFEST_BLOB_UNKNOWN", status=400)
        for entry in document.get("manifests", ()):
            if entry["digest"] not in place.manifests:
                raise registries.MalformedAnswer("MANIFEST_UNKNOWN", status=400)
        place.manifests[str(manifest.digest)] = manifest
        if "subject" in document:
            place.subjects[str(manifest.digest)] = document["subject"]["digest"]
        if reference.tag:
            place.tags[reference.tag] = str(manifest.digest)
        self.end(number, "PUT")

    async def mount_blob(self, target: Reference, digest: Digest, *, source: Reference) -> bool:
        number = self.begin("POST")
        if str(digest) not in self._at(source).blobs:
            return False
        self._at(target).blobs.add(str(digest))
        self.end(number, "POST")
        return True

    async def copy_blob(
        self, target: Reference, descriptor: Descriptor, *, source: Reference
    ) -> None:
        if not await self.mount_blob(target, descriptor.digest, source=source):
            raise registries.NotFound("404", status=404)

    async def delete(self, reference: Reference) -> bool:
        number = self.begin("DELETE")
        place = self._at(reference)
        if reference.digest is None and not self.deletes_tags:
            raise registries.Unsupported("405", status=405)
        if reference.digest is None:
            found = place.tags.pop(reference.tag or "", None) is not None
        else:
            found = place.manifests.pop(str(reference.digest), None) is not None
            for tag in [one for one, to in place.tags.items() if to == str(reference.digest)]:
                del place.tags[tag]
        self.end(number, "DELETE")
        return found

    async def delete_blob(self, repository: Reference, digest: Digest) -> bool:
        raise NotImplementedError

    async def delete_blob_everywhere(self, registry: str, digest: Digest) -> bool:
        raise NotImplementedError

    def is_whole(self, repository: str, digest: str) -> bool:
        """Whether an image can be pulled from the repository with everything that it needs."""
        place = self.repositories.get(repository, Repository())
        manifest = place.manifests.get(digest)
        if manifest is None:
            return False
        document = json.loads(manifest.content)
        needed = [document["config"]] if "config" in document else []
        blobs = [entry["digest"] for entry in (*needed, *document.get("layers", ()))]
        children = [entry["digest"] for entry in document.get("manifests", ())]
        return all(one in place.blobs for one in blobs) and all(
            self.is_whole(repository, one) for one in children
        )
