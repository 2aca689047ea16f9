"""A dry run over a storage of many objects that exist nowhere, and the memory that it takes.

Of each 20 objects: a manifest with its link, its tag and the history of that, a configuration,
three layers of its own, and eleven links of layers. Its list is part of the time.
"""

import asyncio
import hashlib
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from lading.adapters.clock import SystemClock
from lading.kernel import manifests
from lading.ports import storage as storages
from lading.ports.storage import OnlyNew, OnlyVersion, StorageError, StoredObject
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.inventory.observe_storage import revision_link, tag_link
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.types import Settings
from lading.pruning.sweep import layout
from lading.pruning.sweep.controller import Sweeper, SweepRequest
from lading.pruning.sweep.lock import StorageLock
from lading.pruning.sweep.storage_file import StorageFile
from lading.pruning.sweep.types import SweepSettings

PAGE = 1000
IMAGES_OF_REPOSITORY = 100
OBJECTS_OF_IMAGE = 20
OWN_BLOBS, SHARED_LINKS = 4, 7
DELETED_EVERY = 10
OLD = datetime.now(UTC) - timedelta(days=30)


class MadeUp:
    """A `Storage` that computes its list and its manifests; every tenth manifest was deleted."""

    copy_bytes_max = None

    def __init__(self, objects: int) -> None:
        self._images = objects // OBJECTS_OF_IMAGE
        digests = np.fromiter(
            (int(self._manifest(one)[0][7:23], 16) for one in range(self._images)), np.uint64
        )
        self._order = np.argsort(digests).astype(np.int32)
        self._sorted = digests[self._order]

    @staticmethod
    def _digest(content: bytes) -> str:
        return f"sha256:{hashlib.sha256(content).hexdigest()}"

    def _blob(self, image: int, number: int) -> str:
        return self._digest(b"%d %d" % (image, number))

    def _layers(self, image: int) -> tuple[list[str], list[str]]:
        """Those of its own, and those that it shares with its repository."""
        first = image // IMAGES_OF_REPOSITORY * IMAGES_OF_REPOSITORY + 1
        own = [self._blob(image, one) for one in range(OWN_BLOBS)]
        return own, [self._blob(first + one, 0) for one in range(SHARED_LINKS)]

    def _manifest(self, image: int) -> tuple[str, bytes]:
        (config, *own), shared = self._layers(image)
        document = {
            "mediaType": manifests.OCI_MANIFEST,
            "config": {"digest": config},
            "layers": [{"digest": one} for one in (*own, *shared)],
        }
        content = json.dumps(document).encode()
        return self._digest(content), content

    async def pages(self, prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        if not prefix.startswith(layout.ROOT):
            return
        page: list[StoredObject] = []
        for path in self._paths():
            page.append(StoredObject(path, 1000, OLD))
            if len(page) == PAGE:
                yield page
                page = []
        yield page

    def _paths(self) -> Iterator[str]:
        for image in range(self._images):
            name = f"team-{image // IMAGES_OF_REPOSITORY}/app"
            digest, _ = self._manifest(image)
            own, shared = self._layers(image)
            for blob in (digest, *own):
                yield layout.data_path(blob)
            for layer in (*own, *shared):
                yield layout.layer_link(name, layer)
            folder = f"{layout.tags_folder(name)}/v{image}"
            is_deleted = image % DELETED_EVERY == 0
            yield f"{folder}/was" if is_deleted else revision_link(name, digest)
            yield f"{folder}/index/{digest.replace(':', '/')}/link"
            yield tag_link(name, f"v{image}")
            yield f"{folder}/other"

    async def head(self, path: str) -> StoredObject | None:
        return None

    async def read(self, path: str, *, bytes_max: int) -> bytes:
        if not path.startswith(layout.BLOBS):
            raise storages.NotFound(path)
        number = np.uint64(int(path.split("/")[-2][:16], 16))
        return self._manifest(int(self._order[np.searchsorted(self._sorted, number)]))[1]

    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None:
        raise storages.Denied(path)

    async def move(self, source: str, target: str) -> None:
        raise storages.Denied(target)

    async def delete(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        raise storages.Denied(paths[0])

    async def remove_empty_folders(self, prefix: str, *, before: datetime) -> int:
        return 0


async def _preview(storage: MadeUp) -> int:
    sweeper = Sweeper(
        SweepRequest(
            settings=SweepSettings(grace=timedelta(hours=24)),
            limits=Limits(),
            reading=Reading(settings=Settings(), custom=READY_MADE),
        ),
        storage=storage,
        replicas=(),
        clusters=(),
        files=(),
        state_file=StorageFile(storage, "state"),
        known_file=StorageFile(storage, "known"),
        lock=StorageLock(storage),
        clock=SystemClock(),
    )
    _, observed, _ = await sweeper.preview()
    return observed.facts.listing.objects


def main(objects: int) -> None:
    start = time.monotonic()
    found = asyncio.run(_preview(MadeUp(objects)))
    assert found == objects // OBJECTS_OF_IMAGE * OBJECTS_OF_IMAGE, found
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"bytes": peak, "seconds": time.monotonic() - start}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
