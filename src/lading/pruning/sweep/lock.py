"""A lock that allows one sweep at a time: an object in the storage that a sweep renews.

A lock that was not renewed for its period, by the clock of the storage, belongs to an interrupted
sweep and is taken over. If the process is visible from here and has ended, this happens at once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import msgspec

from lading.ports import storage as storages
from lading.ports.storage import OnlyNew, OnlyVersion, Storage, StoredObject
from lading.pruning.engine import holder as holders
from lading.pruning.engine.holder import Holder
from lading.pruning.engine.inventory import storage_clock
from lading.pruning.sweep import layout

PATH = f"{layout.OWN}/lock"
PERIOD_DEFAULT = timedelta(minutes=5)
RENEWALS_PER_PERIOD = 5
_BYTES_MAX = 4096


class SweepInProgress(Exception):
    """Another sweep holds the lock, or has taken it over."""


class StorageLock:
    def __init__(self, storage: Storage, *, period: timedelta = PERIOD_DEFAULT) -> None:
        self._storage = storage
        self._period = period
        self._own = Holder.own()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        await self._acquire()
        renewing = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError, storages.StorageError):
                await renewing
            with suppress(storages.StorageError):
                await self._release()

    async def check(self) -> None:
        """Called before each step that cannot be undone."""
        if not self._is_own(await self._holder()):
            raise SweepInProgress(
                "another sweep took over the lock; this sweep changes nothing more"
            )

    async def _acquire(self) -> None:
        try:
            await self._put(OnlyNew())
        except storages.AlreadyExists:
            await self._take_over()
        except storages.Unavailable:
            with suppress(storages.StorageError):
                await self._release()  # it may be written all the same
            raise

    async def _take_over(self) -> None:
        found = await self._storage.head(PATH)
        holder = await self._holder()
        if found is None or holder is None:
            raise SweepInProgress(
                "another sweep has just ended; run this one again."
                f" If {PATH} is a folder, remove it"
            )
        if self._is_own(holder):
            return  # an attempt that got no answer has written it
        await self._check_stale(found, holder)
        try:
            await self._put(OnlyVersion(found.version))
        except storages.Changed as error:
            if not self._is_own(await self._holder()):
                raise _in_progress(holder) from error
        except storages.Unsupported:
            await self._replace(holder)

    async def _check_stale(self, found: StoredObject, holder: Holder) -> None:
        if holder.has_ended():
            return
        now = await storage_clock.server_time(self._storage)
        if now - found.modified_at < self._period:
            raise _in_progress(holder)

    async def _replace(self, stale: Holder) -> None:
        """On files: only the holder of the claim replaces the stale lock, which is never absent."""
        claim = f"{PATH}-{stale.token}"
        try:
            await self._storage.put(claim, b"", condition=OnlyNew())
        except storages.AlreadyExists as error:
            await self._drop_stale(claim)
            raise _in_progress(stale) from error
        try:
            if await self._holder() != stale:
                raise _in_progress(stale)
            await self._put(None)
        finally:
            await self._storage.delete([claim])

    async def _drop_stale(self, claim: str) -> None:
        """Removes the claim of an interrupted sweep; the next run takes over."""
        found = await self._storage.head(claim)
        now = await storage_clock.server_time(self._storage)
        if found is not None and now - found.modified_at > self._period:
            await self._storage.delete([claim])

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._period.total_seconds() / RENEWALS_PER_PERIOD)
            with suppress(storages.StorageError):  # the next one may succeed
                await self.check()
                await self._put(None)

    async def _release(self) -> None:
        if self._is_own(await self._holder()):
            await self._storage.delete([PATH])

    def _is_own(self, holder: Holder | None) -> bool:
        return holder is not None and holder.token == self._own.token

    async def _holder(self) -> Holder | None:
        try:
            return holders.decoded(await self._storage.read(PATH, bytes_max=_BYTES_MAX))
        except storages.NotFound:
            return None

    async def _put(self, condition: OnlyNew | OnlyVersion | None) -> None:
        await self._storage.put(PATH, msgspec.json.encode(self._own), condition=condition)


def _in_progress(holder: Holder) -> SweepInProgress:
    owner = f"process {holder.pid} on {holder.host}" if holder.token else f"{PATH} names no process"
    return SweepInProgress(
        f"another sweep of this storage is in progress ({owner});"
        f" wait for its end. A sweep that was interrupted is taken over after"
        f" {PERIOD_DEFAULT.total_seconds() / 60:.0f} minutes"
    )
