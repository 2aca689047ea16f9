"""What the walk from a reference to the image of a platform keeps in memory."""

import json
import tracemalloc
from typing import Any

import pytest

from lading.kernel import manifests, references
from lading.kernel.digests import Digest
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports import platform_image
from lading.ports.registry import Manifest

AMD64 = Platform(os="linux", architecture="amd64")
PADDING_BYTES = 3 * 1024 * 1024


def manifest(document: dict[str, Any]) -> Manifest:
    content = json.dumps({"schemaVersion": 2, **document}).encode()
    media_type = manifests.media_type_of(content)
    return Manifest(media_type=media_type, digest=Digest.of(content), content=content)


def descriptor(content: bytes) -> dict[str, Any]:
    return {"mediaType": "a/b", "digest": str(Digest.of(content)), "size": len(content)}


IMAGE = manifest({"config": descriptor(b"config"), "layers": [descriptor(b"layer")]})


class LargeIndex:
    """A registry with an index of some megabytes, which it does not keep itself."""

    held_bytes = 0

    async def manifest(self, reference: Reference) -> Manifest:
        if reference.digest:
            self.held_bytes = tracemalloc.get_traced_memory()[0]
            return IMAGE
        entry = {**descriptor(IMAGE.content), "platform": {"os": "linux", "architecture": "amd64"}}
        return manifest({"manifests": [entry], "annotations": {"padding": "x" * PADDING_BYTES}})


@pytest.mark.parametrize("keep_content", [False, True])
async def test_no_document_is_held_while_the_next_is_waited_for(keep_content: bool) -> None:
    registry: Any = LargeIndex()
    reference = references.parse("registry.example.com/app:v1")
    tracemalloc.start()
    try:
        found = await platform_image.find(
            registry, reference, AMD64, keep_content=keep_content, for_guest=False
        )
    finally:
        tracemalloc.stop()
    assert (registry.held_bytes > PADDING_BYTES) == keep_content
    assert [bool(one.content) for one in found.walked] == [keep_content] * 2
    assert found.digest == IMAGE.digest
