"""Reads the images of a node, their users, the space on its disks, and earlier records."""

import json
from collections.abc import Iterable, Mapping

from lading.kernel import digests
from lading.kernel.images import Layer
from lading.kernel.values import replace
from lading.ports.cri import Cri, CriError, Image, Inspection, Transient
from lading.ports.node import Disk, Space
from lading.runtime_images.gc_types import ObservedImages
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import LocalImageId, local_id


async def observe(runtime: Cri, disk: Disk, state: ImageStateFile) -> ObservedImages:
    observed = await observe_use(runtime)
    known = await state.load()
    return replace(
        observed,
        space=await _fullest(runtime, disk),
        layers=await _layers(runtime, observed.images),
        records=known.records,
        digest_pulls=known.digest_pulls,
    )


async def observe_use(runtime: Cri) -> ObservedImages:
    """The images and their users. This is read again right before a removal."""
    # Images first, so that a container that starts meanwhile is seen.
    images = await runtime.images()
    containers = await runtime.containers()
    status = await runtime.status()
    return ObservedImages(images=images, containers=containers, sandbox_image=status.sandbox_image)


async def _fullest(runtime: Cri, disk: Disk) -> Space | None:
    """A runtime may have one file system for each snapshotter, and any of them can become full."""
    filesystems = await runtime.filesystems()
    spaces = [await disk.space(usage.mountpoint) for usage in filesystems.images]
    return min(filter(None, spaces), key=_available_share, default=None)


def _available_share(space: Space) -> float:
    return space.available_bytes / max(space.capacity_bytes, 1)


async def _layers(
    runtime: Cri, images: Iterable[Image]
) -> Mapping[LocalImageId, tuple[Layer, ...]]:
    """Stops at the first image without layers: then the runtime reports none at all."""
    found: dict[LocalImageId, tuple[Layer, ...]] = {}
    for image in map(local_id, images):
        inspection = await _inspected(runtime, image)
        if inspection is None:
            continue
        layers = _reported_layers(inspection.info)
        if layers is None:
            break
        found[image] = layers
    return found


async def _inspected(runtime: Cri, image: LocalImageId) -> Inspection | None:
    """None also if the runtime cannot inspect the image, so that it does not hide the others."""
    try:
        return await runtime.inspect(image.spec)
    except Transient:
        raise
    except CriError:
        return None


def _reported_layers(info: Mapping[str, str]) -> tuple[Layer, ...] | None:
    """From `layers: [{digest, size}]` in the verbose status; CRI itself has no such field."""
    try:
        return tuple(
            Layer(str(digests.parse(layer["digest"])), int(layer["size"]))
            for layer in json.loads(info["info"])["layers"]
        )
    except (KeyError, TypeError, ValueError):
        return None
