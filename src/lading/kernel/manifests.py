"""Image manifests, indexes and configurations (OCI image 1.1 and Docker schema 2), read strictly.

Bytes in, frozen data out, every size and count bounded. Nothing is fetched here.
`platforms` decides which entry of an index fits a machine.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lading.kernel import digests, json_values
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.platforms.types import Platform

MANIFEST_BYTES_MAX = 4 * 1024 * 1024  # the limit that the OCI distribution specification names
CONFIG_BYTES_MAX = 4 * 1024 * 1024
ENTRIES_MAX = 512  # overlayfs takes 500 layers, and there are some 50 platforms
PLATFORM_WORDS_MAX = 64
PLATFORM_CHARACTERS_MAX = 512
"""Of all its words; real ones have some twenty, and each is shown to people."""
FEATURES_BYTES_MAX = 8 * PLATFORM_CHARACTERS_MAX  # written as JSON, with escapes
BLOB_BYTES_MAX = 2**63 - 1  # sizes are int64 in every implementation

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER_GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"

MANIFEST_TYPES = (OCI_MANIFEST, DOCKER_MANIFEST)
INDEX_TYPES = (OCI_INDEX, DOCKER_LIST)
KNOWN_TYPES = (*MANIFEST_TYPES, *INDEX_TYPES)


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """The name, type and size of a piece of content."""

    media_type: str
    digest: Digest
    size_bytes: int
    platform: Platform | None = None
    artifact_type: str = ""


class ImageManifest(msgspec.Struct, frozen=True, kw_only=True):
    """One image for one platform, or an artifact of the same shape."""

    media_type: str
    config: Descriptor
    layers: tuple[Descriptor, ...]
    subject: Descriptor | None = None
    artifact_type: str = ""
    annotations: Mapping[str, str] = {}

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        return (self.config, *self.layers)


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """A list of manifests, usually one for each platform."""

    media_type: str
    manifests: tuple[Descriptor, ...]
    subject: Descriptor | None = None
    artifact_type: str = ""
    annotations: Mapping[str, str] = {}


class ImageConfig(msgspec.Struct, frozen=True, kw_only=True):
    platform: Platform
    user: str


_NO_FEATURES = msgspec.Raw(b"[]")


class _Platform(msgspec.Struct):
    os: str = ""
    architecture: str = ""
    variant: str = ""
    os_version: str = msgspec.field(name="os.version", default="")
    os_features: msgspec.Raw = msgspec.field(name="os.features", default=_NO_FEATURES)
    """Read once it is known to be short."""


class _Descriptor(msgspec.Struct, rename="camel"):
    digest: str
    size: int
    media_type: str = ""
    platform: _Platform | None = None
    artifact_type: str = ""


class _Entry(msgspec.Struct, gc=False):
    """A field that is present; its value is not read."""


class _Outline(msgspec.Struct, rename="camel"):
    """The fields that tell the two shapes apart. Cheap, because a hostile document may be large."""

    schema_version: int = 0
    media_type: str = ""
    config: _Entry | None = None
    layers: list[_Entry] | None = None
    manifests: list[_Entry] | None = None


class _Document(msgspec.Struct, rename="camel"):
    """Both shapes at once: a document that claims to be both is refused."""

    schema_version: int = 0
    media_type: str = ""
    config: _Descriptor | None = None
    layers: list[_Descriptor] | None = None
    manifests: list[_Descriptor] | None = None
    subject: _Descriptor | None = None
    artifact_type: str = ""
    annotations: dict[str, str] | None = None


class _Execution(msgspec.Struct):
    user: str = msgspec.field(name="User", default="")


class _Config(_Platform):
    config: _Execution | None = None


_outline_decoder = msgspec.json.Decoder(_Outline)
_document_decoder = msgspec.json.Decoder(_Document)
_config_decoder = msgspec.json.Decoder(_Config)
_words_decoder = msgspec.json.Decoder(list[str])


def parse(content: bytes, media_type: str = "") -> ImageManifest | Index:
    """Reads a manifest; the document must agree with the `media_type` of the server."""
    document: _Document = _decode_manifest(_document_decoder, content)
    kind = _checked_type(document, content, media_type)
    if kind in INDEX_TYPES:
        return _index(document, kind)
    return _image_manifest(document, kind, content)


def media_type_of(content: bytes, media_type: str = "") -> str:
    """The type of a well-formed manifest. Does not read its entries."""
    outline: _Outline = _decode_manifest(_outline_decoder, content)
    return _checked_type(outline, content, media_type)


def _decode_manifest(decoder: msgspec.json.Decoder[Any], content: bytes) -> Any:
    if json_values.are_too_many(content):
        raise _malformed(content, f"more than {json_values.VALUES_MAX} values")
    return _decode(decoder, content, "manifest", MANIFEST_BYTES_MAX)


def _checked_type(document: _Outline | _Document, content: bytes, media_type: str) -> str:
    if document.schema_version != 2:
        raise _malformed(content, "schemaVersion must be 2 (Docker schema 1 is not supported)")
    entries = len(document.manifests or ()) + len(document.layers or ())
    if entries > ENTRIES_MAX:
        raise _malformed(content, f"{entries} entries are more than the {ENTRIES_MAX} allowed")
    return _media_type(document, content, media_type)


def parse_config(content: bytes) -> ImageConfig:
    document: _Config = _decode(_config_decoder, content, "image configuration", CONFIG_BYTES_MAX)
    execution = document.config or _Execution()
    return ImageConfig(platform=_platform(document), user=execution.user)


def _decode(decoder: msgspec.json.Decoder[Any], content: bytes, what: str, bytes_max: int) -> Any:
    if len(content) > bytes_max:
        reason = f"{len(content)} bytes are more than the {bytes_max} allowed"
        raise Malformed(what=what, text=content[:64], reason=reason)
    try:
        return decoder.decode(content)
    except RecursionError as error:
        raise Malformed(what=what, text=content[:64], reason="it is nested too deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(what=what, text=content[:64], reason=str(error)) from error


def _index(document: _Document, kind: str) -> Index:
    return Index(
        media_type=kind,
        manifests=tuple(map(_descriptor, document.manifests or ())),
        subject=_optional_descriptor(document.subject),
        artifact_type=document.artifact_type,
        annotations=document.annotations or {},
    )


def _image_manifest(document: _Document, kind: str, content: bytes) -> ImageManifest:
    if document.config is None:
        raise _malformed(content, "an image manifest needs 'config'")
    return ImageManifest(
        media_type=kind,
        config=_descriptor(document.config),
        layers=tuple(map(_descriptor, document.layers or ())),
        subject=_optional_descriptor(document.subject),
        artifact_type=document.artifact_type,
        annotations=document.annotations or {},
    )


def _media_type(document: _Outline | _Document, content: bytes, declared: str) -> str:
    """The type, on which header, document and shape must agree.

    A document with both shapes could be read as two different images by two readers.
    """
    is_index = document.manifests is not None
    if is_index and (document.layers is not None or document.config is not None):
        raise _malformed(content, "it has the fields of both an index and an image manifest")
    inferred = OCI_INDEX if is_index else OCI_MANIFEST
    stated = {kind for kind in (declared, document.media_type) if kind in KNOWN_TYPES}
    if len(stated) > 1:
        raise _malformed(content, f"its type is {document.media_type}, the server sent {declared}")
    kind = stated.pop() if stated else inferred
    if (kind in INDEX_TYPES) != is_index:
        raise _malformed(content, f"its fields do not fit its media type {kind}")
    return kind


def _optional_descriptor(raw: _Descriptor | None) -> Descriptor | None:
    return None if raw is None else _descriptor(raw)


def _descriptor(raw: _Descriptor) -> Descriptor:
    if not 0 <= raw.size <= BLOB_BYTES_MAX:
        raise Malformed(what="descriptor", text=raw.size, reason="'size' must be 0 to 2^63-1")
    return Descriptor(
        media_type=raw.media_type,
        digest=digests.parse(raw.digest),
        size_bytes=raw.size,
        platform=None if raw.platform is None else _platform(raw.platform),
        artifact_type=raw.artifact_type,
    )


def _platform(raw: _Platform) -> Platform:
    features = _features(raw)
    words = (raw.os, raw.architecture, raw.variant, raw.os_version, *features)
    if len(words) > PLATFORM_WORDS_MAX or sum(map(len, words)) > PLATFORM_CHARACTERS_MAX:
        raise _too_long(raw)
    return Platform(
        os=raw.os,
        architecture=raw.architecture,
        variant=raw.variant,
        os_version=raw.os_version,
        os_features=features,
    )


def _features(raw: _Platform) -> tuple[str, ...]:
    if len(memoryview(raw.os_features)) > FEATURES_BYTES_MAX:
        raise _too_long(raw)
    try:
        return tuple(_words_decoder.decode(raw.os_features))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(what="platform", text=raw.os, reason=f"os.features: {error}") from error


def _too_long(raw: _Platform) -> Malformed:
    reason = f"more than {PLATFORM_WORDS_MAX} words or {PLATFORM_CHARACTERS_MAX} characters"
    return Malformed(what="platform", text=raw.os, reason=reason)


def _malformed(content: bytes, reason: str) -> Malformed:
    return Malformed(what="manifest", text=content[:64], reason=reason)
