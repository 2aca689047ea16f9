"""Worlds for the tests of the pruner: every field that a test writes matters to it."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from lading.pruning.engine.decisions import plan as planning
from lading.pruning.engine.decisions.policy import NO_POLICY, Policy
from lading.pruning.engine.inventory.manifest_table import InventoryManifest, ManifestTable
from lading.pruning.engine.references import extraction, mirrors, names
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.names import RegistryNames
from lading.pruning.engine.types import (
    Inventory,
    PrunePlan,
    References,
    Repository,
    Revision,
    Settings,
    Source,
    Tag,
)

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
REGISTRY = "registry.test"
OLD = 120  # minutes; the cutoff is 60
YOUNG = 10
_NAME_BY_DIGEST: dict[str, str] = {}


def digest(name: str) -> str:
    text = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
    _NAME_BY_DIGEST[text] = name
    return text


def name_of(text: str) -> str:
    return _NAME_BY_DIGEST.get(text, text)


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def stamp(minutes: float) -> str:
    return ago(minutes).strftime("%Y-%m-%dT%H:%M:%SZ")


def image(
    name: str,
    layers: str = "",
    *,
    config: str = "",
    children: str = "",
    subject: str = "",
    artifact_type: str = "",
    minutes: float | None = OLD,
    created: float | None = None,
    size: int = 0,
    managed: bool = True,
    opaque: bool = False,
) -> InventoryManifest:
    blobs = (*layers.split(), *([config] if config else []))
    return InventoryManifest(
        digest=digest(name),
        blobs=tuple(map(digest, blobs)),
        children=tuple(map(digest, children.split())),
        subject=digest(subject) if subject else "",
        artifact_type=artifact_type,
        pushed_at=None if minutes is None else ago(minutes),
        created_at=None if created is None else ago(created),
        size_bytes=size,
        is_managed=managed,
        is_opaque=opaque,
    )


def tag(name: str, *items: str, minutes: float | None = OLD) -> Tag:
    """Items are names of images, newest first; `name=10` is one that is 10 minutes old."""
    return Tag.of(name, [_revision(item, minutes) for item in items])


def _revision(item: str, minutes: float | None) -> Revision:
    name, equals, own = item.partition("=")
    age = float(own) if equals else minutes
    return Revision(digest(name), None if age is None else ago(age))


def stream(name: str, *tags: Tag, minutes: float = OLD, limit: int | None = None) -> Repository:
    return Repository(name=name, tags=tags, created_at=ago(minutes), size_limit_bytes=limit)


def streams_world(streams: Iterable[Repository], images: Iterable[InventoryManifest]) -> Inventory:
    found = {one.digest: one for one in images}
    return Inventory(
        source=Source.IMAGE_STREAMS,
        registry=REGISTRY,
        repositories={one.name: one for one in streams},
        manifests=ManifestTable.of(
            found.values(), {blob: 100 for one in found.values() for blob in one.blobs}
        ),
    )


def registry_world(images: Iterable[InventoryManifest], **tags: Iterable[Tag]) -> Inventory:
    """Repositories by name (`__` is a slash); each holds what its tags reach, and referrers."""
    found = {one.digest: one for one in images}
    repositories = {}
    for key, own in tags.items():
        name, own_tags = key.replace("__", "/"), tuple(own)
        held = _held(found, {one.digest for one in own_tags})
        opaque = tuple(one for one in sorted(held) if one in found and found[one].is_opaque)
        repositories[name] = Repository(
            name=name, tags=own_tags, manifests=tuple(sorted(held)), opaque_digests=opaque
        )
    return Inventory(
        source=Source.REGISTRY,
        registry=REGISTRY,
        repositories=repositories,
        manifests=ManifestTable.of(
            found.values(), {blob: 100 for one in found.values() for blob in one.blobs}
        ),
    )


def _held(found: Mapping[str, InventoryManifest], roots: set[str]) -> set[str]:
    held = set(roots)
    while True:
        more = {child for one in held if one in found for child in found[one].children}
        more |= {one.digest for one in found.values() if one.subject in held}
        if more <= held:
            return held
        held |= more


def pod(
    image_text: str,
    *,
    phase: str = "Running",
    minutes: float = OLD,
    name: str = "pod",
    namespace: str = "foo",
    image_id: str = "",
    **spec: Any,
) -> dict[str, Any]:
    statuses = [{"imageID": image_id}] if image_id else []
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": stamp(minutes),
        },
        "spec": {"containers": [{"image": image_text}], **spec},
        "status": {"phase": phase, "containerStatuses": statuses},
    }


def templated(kind: str, image_text: str, name: str = "workload") -> dict[str, Any]:
    template = {"spec": {"containers": [{"image": image_text}]}}
    spec: dict[str, Any] = {"template": template}
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    return {"kind": kind, "metadata": {"name": name, "namespace": "foo"}, "spec": spec}


def build(kind: str, strategy: str, from_kind: str, name: str) -> dict[str, Any]:
    source = {"kind": from_kind, "name": name}
    return {
        "kind": kind,
        "metadata": {"name": "build", "namespace": "foo"},
        "spec": {"strategy": {f"{strategy}Strategy": {"from": source}}},
    }


NAMES = mirrors.registry_names([REGISTRY])


def used(
    objects: Iterable[Mapping[str, Any]],
    settings: Settings | None = None,
    registry_names: RegistryNames = NAMES,
) -> References:
    settings = settings or Settings()
    cutoff = None if settings.prune_over_size_limit else NOW - settings.keep_younger_than
    found = (
        mention
        for one in objects
        for mention in extraction.mentions(
            one,
            kind=one["kind"],
            cutoff=cutoff,
            custom=READY_MADE,
            group=str(one.get("apiVersion", "")).rpartition("/")[0],
        )
    )
    return names.gather(found, registry_names)


def plan(
    inventory: Inventory,
    *objects: Mapping[str, Any],
    settings: Settings | None = None,
    policy: Policy = NO_POLICY,
    registry_names: RegistryNames = NAMES,
) -> PrunePlan:
    settings = settings or Settings()
    references = used(objects, settings, registry_names)
    return planning.plan(inventory, references, settings, NOW, policy=policy)


def gone(found: PrunePlan) -> set[str]:
    """The deletions in short: `item foo/bar:latest id1`, `blob layer1`, `image id1`."""
    texts = set()
    for line in found.deletions:
        place = f"{line.repository}:{line.tag}" if line.tag else line.repository
        texts.add(" ".join(part for part in (line.what, place, name_of(line.digest)) if part))
    return texts
