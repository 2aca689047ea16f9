"""What the trash must have for an image of any form before the image goes."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lading.kernel.digests import Digest
from lading.kernel.references import Reference
from lading.ports.registry import Manifest
from lading.pruning.engine.trash import CannotMount, Trash, TrashSettings
from tests.pruning.builders import NOW, REGISTRY
from tests.pruning.memory_registry import MemoryRegistry

PLACE = Reference(registry=REGISTRY, repository="team/app")
SETTINGS = TrashSettings(registry=REGISTRY)
RECORD = (
    b'{"repository":"team/app","group":"g","tags":{},"manifests":{},"configs":[],"reason":"",'
    b'"deletedAt":"2026-11-01T00:00:00Z","expiresAt":"2026-11-08T00:00:00Z"}'
)


async def put(registry: MemoryRegistry, document: dict[str, Any]) -> set[str]:
    """The blobs that are in the trash for it, without those of its record."""
    content = json.dumps(document).encode()
    manifest = Manifest(media_type="", digest=Digest.of(content), content=content)
    before = set(registry.data)
    await Trash(registry, SETTINGS).put(
        "team/app", "group", [manifest], tags={}, reason="", now=NOW
    )
    return registry.repositories[SETTINGS.repository].blobs & before


@pytest.mark.parametrize(
    "document",
    [
        {"fsLayers": [{"blobSum": "{}"}], "schemaVersion": 1},
        {"config": {"digest": "{}"}},
        {"layers": [{"digest": "{}", "mediaType": "application/vnd.oci.image.layer.v1.tar"}]},
        {"blobs": [{"digest": "{}"}]},
        {"mediaType": "x/y", "layers": [], "somewhere": [{"else": "{}"}]},
    ],
    ids=["schema 1", "configuration", "layer", "artifact", "unknown form"],
)
async def test_the_blobs_of_every_form_of_manifest_are_there(document: dict[str, Any]) -> None:
    registry = MemoryRegistry()
    blob = str((await registry.push_blob(PLACE, b"content")).digest)
    assert await put(registry, json.loads(json.dumps(document).replace("{}", blob))) == {blob}


async def test_a_layer_that_is_elsewhere_is_not_asked_for() -> None:
    layer = {"digest": str(Digest.of(b"x")), "mediaType": "application/x.foreign.diff.tar.gzip"}
    registry = MemoryRegistry()
    blob = str((await registry.push_blob(PLACE, b"content")).digest)
    assert await put(registry, {"config": {"digest": blob}, "layers": [layer]}) == {blob}


async def test_an_image_without_one_of_its_blobs_stays() -> None:
    with pytest.raises(CannotMount, match="--trash-copy"):
        await put(MemoryRegistry(), {"config": {"digest": str(Digest.of(b"x"))}})


@pytest.mark.parametrize(
    "record",
    [
        b"garbage",
        b"[]",
        b'{"repository": "a", "group": "g"}',
        RECORD.replace(b"Z", b""),
        RECORD.replace(b'"manifests":{}', b'"manifests":{"garbage":"t"}'),
        RECORD.replace(b'"tags":{}', b'"tags":{"v1":"sha256:0"}'),
    ],
    ids=["no JSON", "another form", "no times", "no time zone", "no digest", "a short digest"],
)
async def test_a_record_that_cannot_be_read_is_left_alone(record: bytes) -> None:
    """Whoever may push into the trash could stop every run with it."""
    registry = MemoryRegistry()
    trash = Trash(registry, SETTINGS)
    place = Reference(registry=REGISTRY, repository=SETTINGS.repository)
    for content in (RECORD, record):
        layer = await registry.push_blob(place, content)
        document = json.dumps({"layers": [{"digest": str(layer.digest)}]}).encode()
        manifest = Manifest(media_type="", digest=Digest.of(document), content=document)
        tag = f"record-20261101T000000Z-{layer.digest.encoded[:12]}"
        await registry.push_manifest(replace(place, tag=tag), manifest)
    found = await trash.records([SETTINGS.repository])
    assert [one.repository for _, one in found] == ["team/app"]
    assert await trash.expire(found, NOW + timedelta(days=3650)) == 1
    assert set(registry.repositories[SETTINGS.repository].tags) == {tag}
