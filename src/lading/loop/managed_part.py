"""One part of a feature in a running process: it waits for its kinds, is opened, and works.

What is missing is logged once per change. A part of a feature that is off does not wait: without
its kinds there is nothing to undo.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import structlog

from lading.kernel.backoff import Backoff
from lading.kernel.objects import Resource
from lading.loop.feature import Kind, Page, Work
from lading.loop.informer import Informers
from lading.loop.pool_contributions import PoolContribution
from lading.ports import kube
from lading.ports.clock import Clock

RECHECK = Backoff(seconds_min=1, seconds_max=20)  # with its jitter at most 30 s

log = structlog.get_logger(__name__)

Served = Mapping[Kind, Resource[Any]]


class FoundKinds(msgspec.Struct, frozen=True, kw_only=True):
    served: Served
    missing: tuple[str, ...]
    """What is not served in a version that will do, one sentence each."""


Check = Callable[[Iterable[Kind]], Awaitable[FoundKinds]]


class ManagedPart:
    def __init__(
        self,
        *,
        name: str,
        is_on: bool,
        kinds: tuple[Kind, ...],
        informers: Informers,
        open_work: Callable[[Served], AbstractAsyncContextManager[Work]],
        check: Check,
        clock: Clock,
        rng: random.Random,
        contribution: PoolContribution | None = None,
        is_reported: bool = True,
    ) -> None:
        """Not reported: a part that waits for kinds of others, which are reported by them."""
        self.name = name
        self.missing: tuple[str, ...] = ()
        """The kinds of it that are not served."""
        self._alternatives: tuple[ManagedPart, ...] = ()
        self.checked = asyncio.Event()
        """Set when it is known which kinds are served."""
        self._is_on = is_on
        self._kinds = kinds
        self._informers = informers
        self._open_work = open_work
        self._check = check
        self._clock = clock
        self._rng = rng
        self._contribution = contribution
        self._is_reported = is_reported
        self._work: Work | None = None
        self._settled = asyncio.Event()
        """Set when it is known to wait, or its caches are complete."""
        self._synced = asyncio.Event()

    def set_alternatives(self, others: Iterable["ManagedPart"]) -> None:
        """Parts of the same feature that do the same with other kinds: one of them is enough."""
        self._alternatives = tuple(others)

    def waits_for(self) -> tuple[str, ...]:
        """The missing kinds that keep the feature from working; none where an alternative works."""
        has_alternative = any(one.has_kinds for one in self._alternatives)
        return self.missing if self._is_reported and not has_alternative else ()

    @property
    def has_kinds(self) -> bool:
        return self.checked.is_set() and not self.missing

    def unsynced(self) -> tuple[str, ...]:
        """What keeps the process from being ready."""
        return () if self._settled.is_set() else self._informers.unsynced() or (self.name,)

    def pages(self) -> Mapping[str, Page]:
        return self._work.pages if self._work else {}

    async def run(self) -> None:
        """Everything but the controllers, until cancelled."""
        served = await self._kinds_served()
        if served is None:
            return
        async with self._open_work(served) as work, asyncio.TaskGroup() as group:
            self._work = work
            for one in work.support:
                group.create_task(one.run())
            await self._informers.wait_synced()
            self._contribute(work)
            self._synced.set()
            self._settled.set()
            await asyncio.Event().wait()

    async def control(self) -> None:
        """The controllers, from when the caches are complete until cancelled."""
        await self._synced.wait()
        assert self._work is not None
        async with asyncio.TaskGroup() as group:
            for one in self._work.controllers:
                group.create_task(one.run())

    async def _kinds_served(self) -> Served | None:
        """All of them, in the end; None where the feature is off and some are missing."""
        served: dict[Kind, Resource[Any]] = {}
        failures = 0
        while len(served) < len(self._kinds):
            try:
                found = await self._check(kind for kind in self._kinds if kind not in served)
            except kube.Transient as error:
                log.info("kinds cannot be checked", feature=self.name, error=str(error))
            else:
                served.update(found.served)
                self._note(found.missing)
                self.checked.set()
                if found.missing and not self._is_on:
                    return None
            if len(served) < len(self._kinds):
                failures += 1
                delay = RECHECK.delay_seconds(failures=failures, jitter=self._rng.random())
                await self._clock.sleep(delay)
        return served

    def _note(self, missing: tuple[str, ...]) -> None:
        if missing and not self._is_on:
            log.info("feature is off and not started", feature=self.name, missing=missing)
            self._contribute(None)
            self._settled.set()
        elif missing != self.missing:
            if missing:
                level = log.info if self._alternatives else log.warning
                if self._is_reported:
                    level("feature waits for kinds", feature=self.name, missing=missing)
                self._contribute(None)
            else:
                log.info("feature starts, all its kinds are served", feature=self.name)
            self.missing = missing
            self._settled.set()

    def _contribute(self, work: Work | None) -> None:
        """Facts about pools, from now on; none while it waits for kinds."""
        if self._contribution is not None:
            self._contribution.settle(work.pool_facts if work else None)
