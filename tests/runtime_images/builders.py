"""Builders with defaults, so that every field written in a test matters to it."""

from datetime import UTC, datetime, timedelta

from lading.kernel.digests import Digest
from lading.kernel.images import Layer
from lading.ports.cri import Container, ContainerState, Image, ImageSpec
from lading.ports.node import Space
from lading.runtime_images.types import ImageRecord, ImageRecords, LocalImageId

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GIGABYTE = 10**9
FULL = Space(capacity_bytes=100 * GIGABYTE, available_bytes=10 * GIGABYTE)
EMPTY = Space(capacity_bytes=100 * GIGABYTE, available_bytes=90 * GIGABYTE)


def image_id(name: str) -> str:
    """Sorts as the names do."""
    return f"sha256:{name.encode().hex():0>64}"


def image(
    name: str, *, handler: str = "", gigabytes: int = 1, pinned: bool = False, tag: str = ""
) -> Image:
    return Image(
        id=image_id(name),
        size_bytes=gigabytes * GIGABYTE,
        repo_tags=(tag or f"registry.example/{name}:1",),
        pinned=pinned,
        runtime_handler=handler,
    )


def key(name: str, *, handler: str = "") -> LocalImageId:
    return LocalImageId(image_id=image_id(name), runtime_handler=handler)


def container(
    runs: str,
    *,
    handler: str = "",
    mounts: str = "",
    state: ContainerState = ContainerState.RUNNING,
) -> Container:
    volumes = (ImageSpec(image=image_id(mounts), runtime_handler=handler),) if mounts else ()
    return Container(
        id=f"id-of-{runs}",
        name=f"{runs}-1",
        state=state,
        image=ImageSpec(image=f"registry.example/{runs}:1", runtime_handler=handler),
        image_id=image_id(runs),
        image_volumes=volumes,
    )


def records(
    *images: Image, seen: timedelta = timedelta(days=10), **last_used: timedelta
) -> ImageRecords:
    """Every image first detected long ago, and last used so long ago as its name says, or never."""
    by_id = {image_id(name): NOW - ago for name, ago in last_used.items()}
    return ImageRecords(
        observed_since=NOW - seen,
        observed_at=NOW - timedelta(minutes=5),
        by_image={
            LocalImageId(image_id=each.id, runtime_handler=each.runtime_handler): ImageRecord(
                first_detected=NOW - seen, last_used=by_id.get(each.id)
            )
            for each in images
        },
    )


def layer(name: str, *, gigabytes: int) -> Layer:
    return Layer(str(Digest.of(name.encode())), gigabytes * GIGABYTE)
