"""Writes the storage of a registry as distribution would have, only quicker."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from lading.kernel import manifests
from lading.ports.storage import Storage
from lading.pruning.engine.inventory import observe_storage
from lading.pruning.sweep import layout

LAYERS = 5
"""Of each image, all but one shared with others of its repository."""
WRITES_MAX = 32


def objects(
    *, repositories: int, images: int, tags: int, deleted: int
) -> Iterator[tuple[str, bytes]]:
    """Of each repository the last images have tags, and the first ones were deleted by digest."""
    for repository in range(repositories):
        name = f"team-{repository}/app"
        for number in range(images):
            yield from _image(
                name,
                number,
                tag=f"v{number}" if number >= images - tags else "",
                is_deleted=number < deleted,
            )


def _image(name: str, number: int, *, tag: str, is_deleted: bool) -> Iterator[tuple[str, bytes]]:
    config = f"config of {name} {number}".encode()
    layers = [f"layer of {name} {number % 50} {one}".encode() for one in range(LAYERS - 1)]
    layers.append(f"layer of {name} {number} alone".encode())
    for content in (config, *layers):
        digest = _digest(content)
        yield layout.data_path(digest), content
        yield layout.layer_link(name, digest), digest.encode()
    document = {
        "schemaVersion": 2,
        "mediaType": manifests.OCI_MANIFEST,
        "config": _entry(config, manifests.OCI_CONFIG),
        "layers": [_entry(one, manifests.OCI_LAYER_GZIP) for one in layers],
    }
    content = json.dumps(document).encode()
    digest = _digest(content)
    yield layout.data_path(digest), content
    if is_deleted:
        return
    yield observe_storage.revision_link(name, digest), digest.encode()
    if tag:
        algorithm, _, encoded = digest.partition(":")
        folder = f"{layout.tags_folder(name)}/{tag}"
        yield f"{folder}/index/{algorithm}/{encoded}/link", digest.encode()
        yield observe_storage.tag_link(name, tag), digest.encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _entry(content: bytes, media_type: str) -> dict[str, str | int]:
    return {"mediaType": media_type, "digest": _digest(content), "size": len(content)}


def write_files(root: Path, **shape: int) -> None:
    for path, content in objects(**shape):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


async def write(storage: Storage, **shape: int) -> None:
    waiting = objects(**shape)

    async def worker() -> None:
        for path, content in waiting:
            await storage.put(path, content)

    async with asyncio.TaskGroup() as group:
        for _ in range(WRITES_MAX):
            group.create_task(worker())


async def survivors(storage: Storage) -> set[str]:
    """Data and links; the history of a tag is not compared."""
    return {
        one.path
        async for page in storage.pages(layout.ROOT)
        for one in page
        if "/index/" not in one.path
    }
