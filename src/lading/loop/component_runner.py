"""Runs one component of a feature: waits for its kinds, opens it, and runs its work.

Missing kinds are logged once per change. A component of a feature that is off does not wait:
without its kinds there is nothing to undo.
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
from lading.loop.feature import Kind, Page, Tasks
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
    """One sentence for each kind that is not served in a usable version."""


Check = Callable[[Iterable[Kind]], Awaitable[FoundKinds]]


class ComponentRunner:
    def __init__(
        self,
        *,
        name: str,
        is_on: bool,
        kinds: tuple[Kind, ...],
        informers: Informers,
        open_work: Callable[[Served], AbstractAsyncContextManager[Tasks]],
        check: Check,
        clock: Clock,
        rng: random.Random,
        contribution: PoolContribution | None = None,
        is_reported: bool = True,
    ) -> None:
        """`is_reported` is False if other components report the same missing kinds."""
        self.name = name
        self.missing: tuple[str, ...] = ()
        """The kinds that are not served."""
        self._alternatives: tuple[ComponentRunner, ...] = ()
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
        self._work: Tasks | None = None
        self._settled = asyncio.Event()
        """Set when the component waits for kinds, or its caches are complete."""
        self._synced = asyncio.Event()

    def set_alternatives(self, others: Iterable["ComponentRunner"]) -> None:
        """Components that do the same with other kinds: one of them is enough."""
        self._alternatives = tuple(others)

    def waits_for(self) -> tuple[str, ...]:
        """The missing kinds that stop the feature; empty if an alternative works."""
        has_alternative = any(one.has_kinds for one in self._alternatives)
        return self.missing if self._is_reported and not has_alternative else ()

    @property
    def has_kinds(self) -> bool:
        return self.checked.is_set() and not self.missing

    def unsynced(self) -> tuple[str, ...]:
        """Why the process is not ready."""
        return () if self._settled.is_set() else self._informers.unsynced() or (self.name,)

    def pages(self) -> Mapping[str, Page]:
        return self._work.pages if self._work else {}

    async def run(self) -> None:
        """Runs everything but the controllers, until cancelled."""
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
        """Runs the controllers once the caches are complete, until cancelled."""
        await self._synced.wait()
        assert self._work is not None
        async with asyncio.TaskGroup() as group:
            for one in self._work.controllers:
                group.create_task(one.run())

    async def _kinds_served(self) -> Served | None:
        """Waits until all are served; None if the feature is off and some are missing."""
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

    def _contribute(self, work: Tasks | None) -> None:
        """Contributes facts about pools from now on; nothing while it waits for kinds."""
        if self._contribution is not None:
            self._contribution.settle(work.pool_facts if work else None)
