"""A lock that allows one run at a time on a registry: a tag in the trash that expires.

A registry has no conditional write. So a run first writes its own claim and then lists all claims:
if there is another one that has not expired, the run withdraws and ends. Of two runs that begin at
the same time, at most one continues. The name of a claim says when it expires, by the clock of the
registry; a run renews its claim until it ends. A run that was killed leaves its claim: the next run
waits until it expires. If the process of a claim is visible from here and has ended, the claim does
not count.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import msgspec

from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.ports.clock import Clock
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine import holder as holders
from lading.pruning.engine.holder import Holder
from lading.pruning.engine.trash import trash_tags
from lading.pruning.engine.trash.registry_file import RegistryFile

PERIOD_DEFAULT = timedelta(minutes=1)
"""After a kill the next run waits for so long. A registry may be away for so long during a run."""
RENEWALS_PER_PERIOD = 5
_CLAIM = re.compile(r"lock-(\d{8}T\d{6}Z)-[0-9a-f]{16}")


class RunInProgress(Exception):
    """Another run prunes this registry, or took over the lock."""


class OtherClaim(msgspec.Struct, frozen=True, kw_only=True):
    place: Reference
    tag: str
    holder: Holder

    def refusal(self) -> RunInProgress:
        return RunInProgress(
            f"another run prunes {self.place.registry} (process {self.holder.pid} on"
            f" {self.holder.host}; its lock is tag {self.tag} of {self.place.repository}). Nothing"
            " is deleted. Run again when it has ended"
        )


class RunLock:
    """Without places it is always free."""

    def __init__(
        self,
        registry: RegistryAdministration | None,
        places: Sequence[Reference],
        clock: Clock,
        *,
        must_lock: bool = True,
        period: timedelta = PERIOD_DEFAULT,
    ) -> None:
        self._own_registry = registry
        self._places = places
        self._clock = clock
        self._must_lock = must_lock
        """If false, a registry that takes no claim is pruned without: its disk may be full."""
        self._period = period
        self._renewal_seconds = period.total_seconds() / RENEWALS_PER_PERIOD
        self._own = Holder.own()
        self._claims: list[RegistryFile] = []
        self._valid_until = float("inf")

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        if not self._places:
            yield
            return
        try:
            await self._acquire()
            renewing = asyncio.create_task(self._renew())
            try:
                yield
            finally:
                renewing.cancel()
                await asyncio.gather(renewing, return_exceptions=True)
        finally:
            await self._release(self._claims)

    async def check(self) -> None:
        """Called before each step that cannot be undone."""
        if self._clock.monotonic() > self._valid_until:
            raise RunInProgress(
                "the lock of this run has expired, because the registry did not take its renewal;"
                " nothing more is deleted. Run again"
            )

    async def _acquire(self) -> None:
        try:
            await self._wait_for_an_interrupted_run()
            await self._claim()
        except registries.RegistryError:
            if self._must_lock:
                raise
            return
        if other := await self._other():
            raise other.refusal()

    async def _wait_for_an_interrupted_run(self) -> None:
        """Its claim stays as it is until it expires. A run in progress renews its own."""
        waiting_for = await self._other()
        while waiting_for is not None:
            await self._clock.sleep(self._renewal_seconds)
            found = await self._other()
            if found is not None and found.tag != waiting_for.tag:
                raise found.refusal()
            waiting_for = found

    async def _other(self) -> "OtherClaim | None":
        """The first claim of another run. Claims of interrupted runs are removed."""
        now = await self._now()
        for place in self._places:
            for tag in sorted(await self._registry.tags(place)):
                until = _expiry(tag)
                if until is None or self._own.token in tag:
                    continue
                claim = self._file(place, tag)
                holder = holders.decoded(await claim.read() or b"")
                if until > now and not holder.has_ended():
                    return OtherClaim(place=place, tag=tag, holder=holder)
                await self._release([claim])
        return None

    async def _claim(self) -> None:
        begun = self._clock.monotonic()
        until = await self._now() + self._period
        former = [*self._claims]
        for place in self._places:
            claim = self._file(place, f"lock-{trash_tags.stamp(until)}-{self._own.token}")
            self._claims.append(claim)
            await claim.replace(msgspec.json.encode(self._own))
        self._valid_until = begun + self._period.total_seconds()
        await self._release(former)
        del self._claims[: len(former)]

    async def _renew(self) -> None:
        while True:
            await self._clock.sleep(self._renewal_seconds)
            with suppress(registries.RegistryError):
                await self._claim()

    async def _release(self, claims: Sequence[RegistryFile]) -> None:
        for claim in claims:
            with suppress(registries.RegistryError):
                await claim.remove()

    @property
    def _registry(self) -> RegistryAdministration:
        assert self._own_registry is not None, "a place is in a registry"
        return self._own_registry

    def _file(self, place: Reference, tag: str) -> RegistryFile:
        return RegistryFile(self._registry, replace(place, tag=tag))

    async def _now(self) -> datetime:
        name = self._places[0].registry or ""
        return await self._registry.server_time(name) or self._clock.now()


def _expiry(tag: str) -> datetime | None:
    match = _CLAIM.fullmatch(tag)
    return trash_tags.time(match[1]) if match else None
