"""What the trash must have for an image of any form before the image goes."""

import json
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
