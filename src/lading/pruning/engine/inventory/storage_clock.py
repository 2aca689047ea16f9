"""Reads the clock of a storage: writes an object, and takes its time."""

import secrets
from datetime import datetime

from lading.ports import storage as storages
from lading.ports.storage import Storage

FOLDER = "lading"
"""Outside `docker/registry/v2`, so that no registry reads it."""


async def server_time(storage: Storage) -> datetime:
    path = f"{FOLDER}/clock-{secrets.token_hex(8)}"
    try:
        await storage.put(path, b"clock", condition=storages.OnlyNew())
    except storages.AlreadyExists:
        pass  # the name is random: an attempt that got no answer has written it
    except (storages.Denied, storages.Unsupported) as error:
        raise storages.Denied(
            f"the time of the storage cannot be read, because {FOLDER}/ cannot be written"
            f" ({error}); allow the pruner to write and delete there"
        ) from error
    try:
        found = await storage.head(path)
    finally:
        await storage.delete([path])
    if found is None:
        raise storages.Unavailable(f"{path} is gone right after it was written")
    return found.modified_at
