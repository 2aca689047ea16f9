"""Reads what garbage collection needs to know: images, who needs them, space, and memory."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from lading.kernel import digests
from lading.ports.cri import Cri, CriError, Image, Inspection, Transient
from lading.ports.disk import Disk, Space
from lading.ports.state_file import StateFile
from lading.runtime_images import state
from lading.runtime_images.types import ImageKey, Layer, Observed, key_of


async def observe(runtime: Cri, disk: Disk, document: StateFile) -> Observed:
    observed = await needs(runtime)
    remembered = await state.load(document)
    return replace(
        observed,
        space=await _fullest(runtime, disk),
        layers=await _layers(runtime, observed.images),
        memory=remembered.memory,
        resolutions=remembered.resolutions,
    )


async def needs(runtime: Cri) -> Observed:
    """The images and who needs them: what must be read again right before a removal."""
    # Images first: a container that starts meanwhile is then seen, whatever image it needs.
    images = await runtime.images()
    containers = await runtime.containers()
    status = await runtime.status()
    return Observed(images=images, containers=containers, sandbox_image=status.sandbox_image)


async def _fullest(runtime: Cri, disk: Disk) -> Space | None:
    """A runtime may have one filesystem for each snapshotter; any of them can run full."""
    filesystems = await runtime.filesystems()
    spaces = [await disk.space(usage.mountpoint) for usage in filesystems.images]
    return min(filter(None, spaces), key=_available_share, default=None)


def _available_share(space: Space) -> float:
    return space.available_bytes / max(space.capacity_bytes, 1)


async def _layers(runtime: Cri, images: Iterable[Image]) -> Mapping[ImageKey, tuple[Layer, ...]]:
    """Stops at the first image whose layers are not told: the others' will not be either."""
    found: dict[ImageKey, tuple[Layer, ...]] = {}
    for key in map(key_of, images):
        inspection = await _inspected(runtime, key)
        if inspection is None:
            continue
        layers = _layers_told(inspection.info)
        if layers is None:
            break
        found[key] = layers
    return found


async def _inspected(runtime: Cri, key: ImageKey) -> Inspection | None:
    """None also for an image that the runtime cannot tell about: it must not hide the others."""
    try:
        return await runtime.inspect(key.spec)
    except Transient:
        raise
    except CriError:
        return None


def _layers_told(info: Mapping[str, str]) -> tuple[Layer, ...] | None:
    """From `layers: [{digest, size}]` in the verbose status; CRI itself has no such field."""
    try:
        told = json.loads(info["info"])["layers"]
        return tuple(
            Layer(digest=digests.parse(layer["digest"]), size_bytes=int(layer["size"]))
            for layer in told
        )
    except (KeyError, TypeError, ValueError):
        return None
