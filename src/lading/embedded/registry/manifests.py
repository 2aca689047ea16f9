"""Manifests of a repository, and its tags.

A manifest is stored as the exact bytes that were pushed, and only if the repository has all of its
content: a tag never names an image that cannot be pulled.
"""

import shutil
import threading

import msgspec

from lading.embedded.registry import catalog
from lading.embedded.registry import layout as layouts
from lading.embedded.registry.blobs import Blobs
from lading.embedded.registry.faults import Code, Fault
from lading.embedded.registry.layout import Layout
from lading.embedded.registry.usage import FILE_BYTES_MIN, StoreUsage
from lading.kernel import digests, manifests, references
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.manifests import ImageManifest, Index

# Clients fetch layers that may not be redistributed from elsewhere.
_NOT_PUSHED = ("nondistributable", "foreign")


class StoredManifest(msgspec.Struct, frozen=True, kw_only=True):
    digest: Digest
    media_type: str
    content: bytes


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    digest: Digest
    tags: tuple[str, ...]
    subject: Digest | None


class Manifests(msgspec.Struct, frozen=True):
    layout: Layout
    blobs: Blobs
    usage: StoreUsage
    _linking: threading.Lock = msgspec.field(default_factory=threading.Lock)
    """The removal of a tag deletes its folder, which must not happen while it is written."""

    def get(self, name: str, tag_or_digest: str) -> StoredManifest:
        digest = self._resolve(name, tag_or_digest)
        content = None if digest is None else self.content(name, digest)
        if digest is None or content is None:
            raise _unknown(name, tag_or_digest)
        return StoredManifest(digest=digest, media_type=_stored_type(content), content=content)

    def content(self, name: str, digest: Digest) -> bytes | None:
        """The bytes of a manifest that the repository has."""
        target = layouts.read_link(self.layout.revision_link(name, digest))
        return None if target is None else self.blobs.read(target)

    def put(
        self, name: str, tag_or_digest: str, content: bytes, *, media_type: str, tags: list[str]
    ) -> Accepted:
        digest, wanted_tags = _wanted(tag_or_digest, content, tags)
        manifest = _parsed(content, media_type)
        self._check_complete(name, manifest)
        link_count = 1 + 2 * len(wanted_tags)
        self.usage.take(len(content) + link_count * FILE_BYTES_MIN)
        self.blobs.write(digest, content)
        with self._linking:
            layouts.write_link(self.layout.revision_link(name, digest), digest)
            for tag in wanted_tags:
                layouts.write_link(self.layout.tag_index_link(name, tag, digest), digest)
                layouts.write_link(self.layout.tag_link(name, tag), digest)
        subject = manifest.subject.digest if manifest.subject else None
        return Accepted(digest=digest, tags=tuple(wanted_tags), subject=subject)

    def delete(self, name: str, tag_or_digest: str) -> None:
        """Removes a tag; or a manifest with every tag that names it."""
        digest = _digest(tag_or_digest)
        with self._linking:
            if digest is None:
                self._delete_tag(name, _possible_tag(name, tag_or_digest))
            else:
                self._delete_revision(name, digest)

    def _delete_revision(self, name: str, digest: Digest) -> None:
        link = self.layout.revision_link(name, digest)
        if not link.is_file():
            raise _unknown(name, str(digest))
        for tag in catalog.tags(self.layout, name):
            if layouts.read_link(self.layout.tag_link(name, tag)) == digest:
                self._delete_tag(name, tag)
        link.unlink(missing_ok=True)

    def _delete_tag(self, name: str, tag: str) -> None:
        # The link goes first: half a removal must not leave a tag that still resolves.
        link = self.layout.tag_link(name, tag)
        if not link.is_file():
            raise _unknown(name, tag)
        link.unlink(missing_ok=True)
        shutil.rmtree(link.parents[1], ignore_errors=True)

    def _resolve(self, name: str, tag_or_digest: str) -> Digest | None:
        digest = _digest(tag_or_digest)
        if digest is not None:
            return digest
        return layouts.read_link(self.layout.tag_link(name, _possible_tag(name, tag_or_digest)))

    def _check_complete(self, name: str, manifest: ImageManifest | Index) -> None:
        match manifest:
            case ImageManifest():
                needed = [blob for blob in manifest.blobs if not _stays_away(blob.media_type)]
            case Index():
                needed = list(manifest.manifests)
        for descriptor in needed:
            if not self._contains(name, descriptor.digest):
                raise Fault(
                    Code.MANIFEST_BLOB_UNKNOWN,
                    "the manifest names content that the repository does not have; push it first",
                    detail=str(descriptor.digest),
                )

    def _contains(self, name: str, digest: Digest) -> bool:
        return self.blobs.contains(name, digest) or self.content(name, digest) is not None


def checked_tag(tag: str) -> str:
    try:
        parsed = references.parse(f"localhost/a:{tag}")
    except Malformed as error:
        raise Fault(Code.TAG_INVALID, error.reason, detail=tag) from error
    if parsed.tag != tag:
        raise Fault(Code.TAG_INVALID, "not a tag", detail=tag)
    return tag


def _possible_tag(name: str, tag: str) -> str:
    """A client that only reads gets "unknown" for a malformed tag."""
    try:
        return checked_tag(tag)
    except Fault as error:
        raise _unknown(name, tag) from error


def _digest(tag_or_digest: str) -> Digest | None:
    """None for a tag, which cannot contain a colon."""
    if ":" not in tag_or_digest:
        return None
    try:
        return digests.parse(tag_or_digest)
    except Malformed as error:
        raise Fault(Code.DIGEST_INVALID, error.reason, detail=tag_or_digest) from error


def _wanted(tag_or_digest: str, content: bytes, tags: list[str]) -> tuple[Digest, list[str]]:
    """The digest to store it under, and the tags to set."""
    digest = _digest(tag_or_digest)
    if digest is None:
        return Digest.of(content), [checked_tag(tag_or_digest)]
    if not digest.matches(content):
        found = Digest.of(content, digest.algorithm)
        raise Fault(
            Code.DIGEST_INVALID, f"the content has the digest {found}", detail=tag_or_digest
        )
    return digest, [checked_tag(tag) for tag in tags]


def _parsed(content: bytes, media_type: str) -> ImageManifest | Index:
    if media_type and media_type not in manifests.KNOWN_TYPES:
        known = ", ".join(manifests.KNOWN_TYPES)
        raise Fault(Code.MANIFEST_INVALID, f"expected one of {known}", detail=media_type)
    try:
        return manifests.parse(content, media_type)
    except Malformed as error:
        raise Fault(Code.MANIFEST_INVALID, error.reason) from error


def _stored_type(content: bytes) -> str:
    """The layout stores no media type, so it is read from the document."""
    try:
        return manifests.media_type_of(content)
    except Malformed:
        return "application/octet-stream"


def _stays_away(media_type: str) -> bool:
    return any(word in media_type for word in _NOT_PUSHED)


def _unknown(name: str, tag_or_digest: str) -> Fault:
    return Fault(
        Code.MANIFEST_UNKNOWN,
        "manifest unknown to the repository",
        detail=f"{name} {tag_or_digest}",
    )
