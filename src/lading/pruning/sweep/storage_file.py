"""A state file in the storage itself, outside the folder of the registry."""

from lading.ports import storage as storages
from lading.ports.storage import Storage

FILE_BYTES_MAX = 1024 * 1024 * 1024


class StorageFile:
    """Implements the `StateFile` port; the storage replaces an object whole."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self._path = path

    async def read(self) -> bytes | None:
        try:
            return await self._storage.read(self._path, bytes_max=FILE_BYTES_MAX)
        except storages.NotFound:
            return None

    async def replace(self, content: bytes) -> None:
        await self._storage.put(self._path, content)
