"""Resolves images: the manifest for the platform of this node or of a guest, and its layers.

It works in the background, and `observe` reads its results. A digest always resolves to the same
manifest, so results are kept in a journal, and each registry is asked once. The number of layers
in memory is limited.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Annotated, Any
from weakref import WeakValueDictionary

import msgspec
import structlog

from lading.kernel import references, texts
from lading.kernel.digests import DigestText
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.images import ImageKey, Layer, Resolution
from lading.kernel.platforms import Platform
from lading.pinned_images.node.types import FailedResolution, PullError, PullErrorKind
from lading.ports import platform_image
from lading.ports import registry as registries
from lading.ports.clock import Clock
from lading.ports.node import Journal
from lading.ports.registry import Registry

RESOLVES_PER_REGISTRY_MAX = 8  # a registry that hangs does not block others
LAYERS_KNOWN_MAX = 100_000  # about 20 MB; 5,000 images of 20 layers
ERROR_BYTES_MAX = 1024  # the limit of a status

log = structlog.get_logger(__name__)


_KINDS: Mapping[type[Exception], PullErrorKind] = {
    registries.NotFound: PullErrorKind.NOT_FOUND,
    registries.Unauthorized: PullErrorKind.UNAUTHORIZED,
    registries.Denied: PullErrorKind.UNAUTHORIZED,
    registries.Blocked: PullErrorKind.UNAUTHORIZED,
    registries.NoMatchingPlatform: PullErrorKind.NO_MATCHING_PLATFORM,
    registries.Transient: PullErrorKind.UNAVAILABLE,
    registries.RegistryError: PullErrorKind.REJECTED,
    Malformed: PullErrorKind.REJECTED,
}
"""The first match counts."""


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
        self._journal = journal
        self._clock = clock
        self._platform_of = platform_of
        self._changed = changed
        self._known: dict[ImageKey, Resolution] = {}
        self._layer_count = 0
        self._failed: dict[ImageKey, FailedResolution] = {}
        self._tasks: dict[ImageKey, asyncio.Task[None]] = {}
        self._free: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def resolutions(self, keys: Iterable[ImageKey] = ()) -> Mapping[ImageKey, Resolution]:
        """All that is in memory, and what the journal has of these images."""
        for key in keys:
            is_new = not (key in self._known or key in self._tasks or key in self._failed)
            if is_new and (noted := self._noted(key)) is not None:
                self._learn(key, noted)
        return dict(self._known)

    def failed(self) -> Mapping[ImageKey, FailedResolution]:
        return dict(self._failed)

    def resolving(self) -> frozenset[ImageKey]:
        return frozenset(self._tasks)

    def drop_except(self, wanted: Set[ImageKey]) -> None:
        """Removes other images from memory, and stops resolving them."""
        for key in self._known.keys() - wanted:
            self._layer_count -= len(self._known.pop(key).layers)
        for key in self._failed.keys() - wanted:
            del self._failed[key]
        for key in self._tasks.keys() - wanted:
            self._tasks.pop(key).cancel()

    def resolve(self, keys: Iterable[ImageKey]) -> None:
        """Starts to resolve images that are not known. Does not wait for them."""
        keys = tuple(keys)
        for key in keys:
            if key in self._known or key in self._tasks:
                continue
            noted = self._noted(key)
            if noted is not None:
                self._learn(key, noted)
            else:
                self._tasks[key] = asyncio.create_task(self._find(key), name=f"resolve {key}")
        if any(key not in self._tasks for key in keys):
            self._changed()

    async def wait(self) -> None:
        """Until all images are resolved or have failed."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks.values()))

    async def close(self) -> None:
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, key: ImageKey) -> None:
        free = asyncio.Semaphore(RESOLVES_PER_REGISTRY_MAX)
        free = self._free.setdefault(key.registry, free)
        try:
            async with free:
                found = await self._resolve(key)
        except Exception as error:  # noqa: BLE001 - a boundary: the failure is a fact
            log.warning("image not resolved", image=str(key), error=str(error))
            self._fail(key, error)
        else:
            self._learn(key, found)
            self._write(key, found)
        finally:
            if self._tasks.get(key) is asyncio.current_task():
                del self._tasks[key]
            self._changed()

    def _learn(self, key: ImageKey, found: Resolution) -> None:
        if self._layer_count + len(found.layers) > LAYERS_KNOWN_MAX:
            message = (
                f"{key.image}: the images of all sets have more than {LAYERS_KNOWN_MAX} layers;"
                " remove sets or images from them"
            )
            self._fail(key, registries.TooLarge(message))
            return
        self._failed.pop(key, None)
        self._known[key] = found
        self._layer_count += len(found.layers)

    def _fail(self, key: ImageKey, error: Exception) -> None:
        kinds = (kind for type_, kind in _KINDS.items() if isinstance(error, type_))
        before = self._failed.get(key)
        self._failed[key] = FailedResolution(
            attempts=before.attempts + 1 if before else 1,
            error=PullError(
                kind=next(kinds, PullErrorKind.OTHER),
                message=texts.bounded_text(str(error), bytes_max=ERROR_BYTES_MAX),
                at=self._clock.now(),
            ),
        )

    def _write(self, key: ImageKey, found: Resolution) -> None:
        """Best effort: a lost entry costs one more request after a restart."""
        try:
            self._journal.put(self._entry(key), _written(found))
        except OSError as error:
            log.warning("resolution not written", image=str(key), error=str(error))

    async def _resolve(self, key: ImageKey) -> Resolution:
        reference = references.parse(key.image)
        platform = self._platform_of(key.runtime_handler)
        return await platform_image.resolve(
            self._registry, reference, platform, for_guest=bool(key.runtime_handler)
        )

    def _noted(self, key: ImageKey) -> Resolution | None:
        return _read(self._journal.entries().get(self._entry(key)), of=key.image)

    def _entry(self, key: ImageKey) -> str:
        return f"{key.image} {self._platform_of(key.runtime_handler)} {bool(key.runtime_handler)}"


class _Entry(msgspec.Struct):
    manifest: str
    layers: tuple[tuple[DigestText, Annotated[int, msgspec.Meta(ge=0)]], ...]


def _written(resolution: Resolution) -> dict[str, Any]:
    return {
        "manifest": resolution.manifest,
        "layers": [[layer.digest, layer.size_bytes] for layer in resolution.layers],
    }


def _read(entry: Any, *, of: str) -> Resolution | None:
    """None if the entry is missing, malformed, or names another repository.

    The runtime pulls the manifest by its name, so the repository must be that of the image.
    """
    try:
        read = msgspec.convert(entry, _Entry)
        if not references.is_manifest_of(read.manifest, of):
            return None
    except UNREADABLE:
        return None
    return Resolution(manifest=read.manifest, layers=tuple(Layer(*one) for one in read.layers))
