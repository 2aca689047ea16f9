"""What each image means on this node: the manifest for its platform, and its layers with sizes.

Like the pull engine it works in the background and is observed. What a digest resolves to never
changes, so it is kept in a journal on disk and asked from a registry once in the node's life.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
import structlog

from lading.kernel import references
from lading.kernel.platforms import Platform
from lading.pinned_images.node.types import ImageKey, Layer, Resolution
from lading.ports import platform_image
from lading.ports.clock import Clock
from lading.ports.journal import Journal
from lading.ports.registry import Registry

RESOLVES_PER_REGISTRY_MAX = 8  # each has its own, so that one that hangs holds up no other

log = structlog.get_logger(__name__)


class Resolver:
    def __init__(
        self,
        *,
        registry: Registry,
        journal: Journal,
        clock: Clock,
        platform_of: Callable[[str], Platform],
        changed: Callable[[], None],
    ) -> None:
        self._registry = registry
        self._notebook = journal
        self._clock = clock
        self._platform_of = platform_of
        self._changed = changed
        self._known: dict[ImageKey, Resolution] = {}
        self._failed: dict[ImageKey, datetime] = {}
        self._tasks: dict[ImageKey, asyncio.Task[None]] = {}
        self._free: dict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(RESOLVES_PER_REGISTRY_MAX)
        )
        self._remembered = dict(journal.entries())

    def resolutions(self) -> Mapping[ImageKey, Resolution]:
        return dict(self._known)

    def failed(self) -> Mapping[ImageKey, datetime]:
        """What could not be resolved, and when that was."""
        return dict(self._failed)

    def resolve(self, keys: Iterable[ImageKey]) -> None:
        """Starts to find out what is not known; returns at once."""
        for key in keys:
            remembered = _read(self._remembered.get(self._note(key)))
            if remembered is not None:
                self._known[key] = remembered
            elif key not in self._tasks and key not in self._known:
                self._tasks[key] = asyncio.create_task(self._find(key), name=f"resolve {key}")
        if any(key in self._known for key in keys):
            self._changed()

    async def close(self) -> None:
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, key: ImageKey) -> None:
        try:
            async with self._free[key.registry]:
                found = await self._resolve(key)
        except Exception as error:  # noqa: BLE001 - a boundary: whatever it was, the pull is tried
            log.warning("image not resolved", image=str(key), error=str(error))
            self._failed[key] = self._clock.now()
        else:
            self._failed.pop(key, None)
            self._known[key] = found
            self._write_down(key, found)
        finally:
            del self._tasks[key]
            self._changed()

    def _write_down(self, key: ImageKey, found: Resolution) -> None:
        """A note that is lost costs one more question after a restart, and nothing else."""
        self._remembered[self._note(key)] = _written(found)
        try:
            self._notebook.put(self._note(key), _written(found))
        except OSError as error:
            log.warning("resolution not remembered", image=str(key), error=str(error))

    async def _resolve(self, key: ImageKey) -> Resolution:
        reference = references.parse(key.image)
        platform = self._platform_of(key.runtime_handler)
        found = await platform_image.find(self._registry, reference, platform)
        by_manifest = str(reference.at(found.digest))
        layers = (Layer(str(blob.digest), blob.size_bytes) for blob in found.image.blobs)
        return Resolution(
            pull_reference=by_manifest if key.runtime_handler else key.image,
            layers=tuple(layers),
        )

    def _note(self, key: ImageKey) -> str:
        return f"{key.image} {self._platform_of(key.runtime_handler)} {bool(key.runtime_handler)}"


class _Note(msgspec.Struct):
    pull: str
    layers: tuple[tuple[str, int], ...]


def _written(resolution: Resolution) -> dict[str, Any]:
    return {
        "pull": resolution.pull_reference,
        "layers": [[layer.digest, layer.size_bytes] for layer in resolution.layers],
    }


def _read(note: Any) -> Resolution | None:
    """None when there is no note, or one that this release cannot read."""
    try:
        read = msgspec.convert(note, _Note)
    except msgspec.ValidationError:
        return None
    return Resolution(pull_reference=read.pull, layers=tuple(Layer(*one) for one in read.layers))
