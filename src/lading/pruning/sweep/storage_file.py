"""A state file in the storage itself, outside the folder of the registry."""

from lading.ports import storage as storages
from lading.ports.storage import Storage

FILE_BYTES_MAX = 256 * 1024 * 1024  # more than a million condemned blobs


class StorageFile:
    """Implements the `StateFile` port. A storage replaces an object in one step."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self._path = path

    async def read(self) -> bytes | None:
        try:
            return await self._storage.read(self._path, bytes_max=FILE_BYTES_MAX)
        except storages.NotFound:
            return None

    async def replace(self, content: bytes) -> None:
        if len(content) > FILE_BYTES_MAX:  # no run could read it again
            raise storages.TooLarge(f"{self._path} would have more than {FILE_BYTES_MAX} bytes")
        await self._storage.put(self._path, content)
