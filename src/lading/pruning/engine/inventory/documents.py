"""Reads manifests tolerantly: what they need, not whether they are valid. Pure.

The kernel's strict reader refuses unknown forms, but the pruner must not delete what they need. So
this one reads schema 1 and artifact manifests, takes every digest of other JSON as an edge, and
marks other content as opaque, which keeps the whole repository.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from lading.kernel import json_values
from lading.kernel import manifests as known
from lading.kernel.errors import UNREADABLE
from lading.ports.registry import Manifest
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.references import extraction

SCHEMA_1 = (
    "application/vnd.docker.distribution.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
)
OCI_ARTIFACT = "application/vnd.oci.artifact.manifest.v1+json"
ACCEPTED = (*known.KNOWN_TYPES, OCI_ARTIFACT, *SCHEMA_1)
_CONTENTS = ("manifests", "layers", "fsLayers")
_IMAGE_CONFIGS = {known.OCI_CONFIG, "application/vnd.docker.container.image.v1+json", ""}
_DIGEST = re.compile(r"(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})")


def read(digest: str, content: bytes) -> tuple[InventoryManifest, Mapping[str, int]]:
    """The manifest, and the sizes of the blobs that it names.

    A document with too many values is opaque.
    """
    document = _decoded(content)
    if document is None:
        return InventoryManifest(digest=digest, size_bytes=len(content), is_opaque=True), {}
    sizes: dict[str, int] = {}
    children = tuple(_digests(document.get("manifests"), {}))
    config = next(_digests([document.get("config")], sizes), "")
    subject = next(_digests([document.get("subject")], {}), "")
    named = dict.fromkeys(_digests(document.get("layers"), sizes))
    named |= dict.fromkeys(_digests(document.get("blobs"), sizes))
    named |= dict.fromkeys(_schema_1_layers(document))
    if config:
        named[config] = None
    is_known = _is_known(document)
    if not is_known or not (children or named):
        others = (one for one in _every_digest(document) if one not in (subject, *children))
        named |= dict.fromkeys(others)
    return InventoryManifest(
        digest=digest,
        children=children,
        blobs=tuple(named),
        subject=subject,
        artifact_type=_artifact_type(document),
        size_bytes=len(content),
        is_unknown=not is_known,
    ), sizes


def _is_known(document: Mapping[str, Any]) -> bool:
    """By its type, which is optional in OCI; else by its fields."""
    stated = document.get("mediaType")
    if stated is not None:
        return stated in ACCEPTED
    return any(isinstance(document.get(one), list) for one in _CONTENTS)


def config_of(content: bytes) -> str:
    """The digest of the configuration; empty if there is none."""
    document = _decoded(content) or {}
    return next(_digests([document.get("config")], {}), "")


def layers_elsewhere(content: bytes) -> frozenset[str]:
    """Layers that are not in the registry, such as those of Windows."""
    layers = (_decoded(content) or {}).get("layers")
    found = [
        one
        for one in (layers if isinstance(layers, list) else ())
        if isinstance(one, Mapping)
        and any(word in _text(one, "mediaType") for word in ("nondistributable", "foreign"))
    ]
    return frozenset(_digests(found, {}))


def configs_of(manifests: Iterable[Manifest]) -> frozenset[str]:
    """The digests of all configurations, by which some runtimes name what they run."""
    return frozenset(config_of(one.content) for one in manifests) - {""}


def created(config: bytes) -> datetime | None:
    """The build time that the configuration states."""
    stated = _text(_decoded(config) or {}, "created")
    return extraction.instant(stated) if stated else None


def _decoded(content: bytes) -> dict[str, Any] | None:
    try:
        document: Any = None if json_values.are_too_many(content) else msgspec.json.decode(content)
    except UNREADABLE:
        return None
    return document if isinstance(document, dict) else None


def _artifact_type(document: Mapping[str, Any]) -> str:
    """Empty for images and indexes. A Helm chart has it as the type of its config."""
    if stated := _text(document, "artifactType"):
        return stated
    config = document.get("config")
    config_type = _text(config, "mediaType") if isinstance(config, Mapping) else ""
    return "" if config_type in _IMAGE_CONFIGS else config_type


def _digests(entries: Any, sizes: dict[str, int]) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping):
            continue
        digest, size = entry.get("digest"), entry.get("size")
        if isinstance(digest, str) and _DIGEST.fullmatch(digest):
            sizes[digest] = size if isinstance(size, int) and size >= 0 else 0
            yield digest


def _schema_1_layers(document: Mapping[str, Any]) -> Iterator[str]:
    layers = document.get("fsLayers")
    for layer in layers if isinstance(layers, list) else ():
        if isinstance(layer, Mapping) and _DIGEST.fullmatch(_text(layer, "blobSum")):
            yield layer["blobSum"]


def _every_digest(value: Any) -> Iterator[str]:
    """All digests in the document, also in unknown fields."""
    pending = [value]
    while pending:
        match pending.pop():
            case str() as text:
                yield from _DIGEST.findall(text)
            case dict() as fields:
                pending += fields.values()
            case list() as items:
                pending += items


def _text(document: Mapping[str, Any], field: str) -> str:
    found = document.get(field)
    return found if isinstance(found, str) else ""
