"""Runs the pruner once: observe, plan, guards, apply. It decides nothing itself."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.ports.clock import Clock
from lading.ports.kube import Cluster
from lading.ports.node import StateFile
from lading.ports.registry_administration import RegistryAdministration
from lading.ports.storage import Storage
from lading.pruning.engine import ledger
from lading.pruning.engine.decisions import edited_plan, guards, plan_file
from lading.pruning.engine.decisions import plan as planning
from lading.pruning.engine.decisions.guards import GuardRefused
from lading.pruning.engine.effects import restore_used
from lading.pruning.engine.effects.apply import Applying
from lading.pruning.engine.effects.apply_streams import ApplyingStreams
from lading.pruning.engine.effects.outcomes import STOPS, PruneOutcome, Result
from lading.pruning.engine.effects.restore_used import Restored
from lading.pruning.engine.effects.run_lock import RunInProgress, RunLock
from lading.pruning.engine.inventory import (
    observe_registry,
    observe_storage,
    observe_streams,
    storage_clock,
)
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.inventory.observe_registry import Scope
from lading.pruning.engine.ledger import Ledger
from lading.pruning.engine.ledger_file import LedgerFile
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.prune_request import PruneRequest
from lading.pruning.engine.references import mirrors, names, observe, watch
from lading.pruning.engine.references.names import RegistryNames
from lading.pruning.engine.references.observe import ClusterReferences
from lading.pruning.engine.references.watch import NewReferences, WatchLost
from lading.pruning.engine.trash import used_again
from lading.pruning.engine.trash.trash import Record, Trash
from lading.pruning.engine.types import (
    NO_TRASH,
    AgeFrom,
    Deletion,
    Header,
    Inventory,
    PrunePlan,
    References,
    Source,
    TrashState,
)

_ENDS = (registries.RegistryError, *STOPS, RunInProgress, WatchLost, ExceptionGroup)
"""The errors that end a run between two deletions."""
Chosen = tuple[Header, Sequence[Deletion]] | None
Planned = Callable[[PrunePlan, "ObservedPruning"], None]  # gets the plan before a deletion


class ObservedPruning(msgspec.Struct, frozen=True, kw_only=True):
    inventory: Inventory
    references: References
    clusters: tuple[ClusterReferences, ...]
    names: RegistryNames
    unread: Ledger
    """The ledger, without the repositories that were read."""
    now: datetime
    """The time of the server that dates the inventory."""
    trash: TrashState = NO_TRASH
    asked: frozenset[str] = frozenset()
    """The repositories of a plain registry that were asked for referrers."""
    planned: PrunePlan | None = None
    """The last plan: it needs no referrers of other repositories."""

    @property
    def cluster_names(self) -> tuple[str, ...]:
        return tuple(sorted(one.cluster for one in self.clusters))


class PruneResult(msgspec.Struct, frozen=True, kw_only=True):
    plan: PrunePlan
    outcomes: tuple[PruneOutcome, ...]
    restored: Restored
    expired: int = 0


class Pruner:
    def __init__(
        self,
        request: PruneRequest,
        *,
        clusters: Sequence[Cluster],
        files: Sequence[ClusterReferences],
        registry: RegistryAdministration | None,
        storage: Storage | None = None,
        trash: Trash | None,
        ledger_file: StateFile | None,
        known: ManifestTable,
        clock: Clock,
    ) -> None:
        self._request = request
        self._clusters = clusters
        self._files = files
        self._registry = registry
        self._storage = storage
        self._trash = trash
        self._ledger_file = LedgerFile(ledger_file)
        self._known = known
        self._clock = clock
        self.progress = PruneProgress()

    async def references(self) -> tuple[ClusterReferences, ...]:
        found = await observe.of_clusters(
            self._clusters, self._clock, self._request.reading, self.progress, files=self._files
        )
        return (*found, *self._files)

    async def observe(
        self, *, is_confirmed: bool = False, with_every_referrer: bool = False
    ) -> ObservedPruning:
        """Reads references before the inventory, so that the inventory has all that they name.

        Only a confirmed run writes to a storage to read its clock. A plan needs the referrers of
        some repositories; `why` needs those of all.
        """
        clusters = await self.references()
        remembered = await self._ledger_file.read()
        registry_names = mirrors.registry_names(
            self._request.registry_names,
            [*self._request.mirrors, *(pair for one in clusters for pair in one.mirrors)],
        )
        mentions = [mention for one in clusters for mention in one.mentions]
        references = names.gather(mentions, registry_names)
        inventory, now = await self._inventory(references, remembered, is_confirmed=is_confirmed)
        observed = ObservedPruning(
            inventory=inventory,
            references=references,
            clusters=clusters,
            names=registry_names,
            unread=remembered.unread(inventory.source, only=self._request.repositories),
            now=now,
            trash=await self._trash_state(inventory, now),
        )
        if inventory.source is not Source.REGISTRY:
            return observed
        if with_every_referrer:
            return await self._with_referrers(observed, inventory.repositories)
        while True:
            plan = self.plan(observed)
            wanted = planning.repositories_to_ask(plan, observed.inventory) - observed.asked
            if not wanted:
                return replace(observed, planned=plan)
            del plan  # of a large registry two do not fit
            observed = await self._with_referrers(observed, wanted)

    async def _with_referrers(
        self, observed: ObservedPruning, repositories: Iterable[str]
    ) -> ObservedPruning:
        assert self._registry is not None, "a plain registry is always opened"
        wanted = frozenset(repositories) - observed.asked
        if not wanted or observed.inventory.source is not Source.REGISTRY:
            return observed
        inventory = await observe_registry.with_referrers(
            self._registry, self._scope(), observed.inventory, wanted, known=self._known
        )
        return replace(observed, inventory=inventory, asked=observed.asked | wanted)

    def plan(self, observed: ObservedPruning) -> PrunePlan:
        return observed.planned or planning.plan(
            observed.inventory,
            observed.references,
            self._request.reading.settings,
            observed.now,
            policy=self._request.policy,
            clusters=observed.cluster_names,
            trash=observed.trash,
        )

    def refusals(self, plan: PrunePlan, observed: ObservedPruning) -> tuple[guards.Refusal, ...]:
        return guards.check(
            plan,
            observed.inventory,
            observed.references,
            self._request.limits,
            references_last_time=observed.unread.references,
        )

    async def apply(self, chosen: Chosen = None, planned: Planned = lambda *_: None) -> PruneResult:
        """Makes a new plan and deletes. Of a given plan it deletes only what both plans name."""
        async with (lock := await self._lock()).held():
            return await self._apply_locked(chosen, planned, lock)

    async def _lock(self) -> RunLock:
        """In every trash repository of this run. The updates of ImageStreams are conditional."""
        if self._trash is None or self._request.source is Source.IMAGE_STREAMS:
            return RunLock(None, (), self._clock)
        host, must_lock = self._trash.settings.registry, self._request.fills_trash
        repositories = await self._trash_repositories()
        places = [Reference(registry=host, repository=one) for one in repositories]
        return RunLock(self._trash.registry, places, self._clock, must_lock=must_lock)

    async def _apply_locked(self, chosen: Chosen, planned: Planned, lock: RunLock) -> PruneResult:
        observed = await self.observe(is_confirmed=True)
        if chosen is not None:
            plan_file.check_same(
                chosen[0],
                registry=observed.inventory.registry,
                source=observed.inventory.source,
                clusters=observed.cluster_names,
            )
        restored = await self._restore_used(observed)
        if restored.records:
            observed = await self.observe(is_confirmed=True)
        self.progress.begin("planning")
        plan = self.plan(observed)
        self.progress.plan, self.progress.unknown = plan, observed.references.unknown
        planned(plan, observed)
        lines: Sequence[Deletion] = plan.deletions
        if chosen is not None:
            lines = edited_plan.common(chosen[1], plan)
        lines = edited_plan.consistent(lines, plan, observed.inventory)
        refusals = self.refusals(replace(plan, deletions=tuple(lines)), observed)
        fresh = observed.references.of_this_registry
        # A refused run does not count its references: a second attempt must not pass the guard
        # because of the first.
        begun = ledger.updated(
            observed.unread,
            observed.inventory,
            observed.now,
            references=observed.unread.references if refusals else fresh,
            going=() if refusals else lines,
        )
        await self._ledger_file.begin(begun)
        if refusals:
            raise GuardRefused(refusals)
        touched: list[Deletion] = []
        try:
            outcomes = await self._apply(lines, observed, touched, lock)
        except _ENDS:
            with suppress(registries.RegistryError, OSError):
                await self._ledger_file.end(
                    begun, ledger.not_begun(lines, touched, observed.inventory)
                )
            raise
        over = [one.line for one in outcomes if one.result is Result.DELETED]
        over += ledger.not_begun(lines, touched, observed.inventory)
        await self._ledger_file.end(begun, over)
        expired = await self._expire(observed.now)
        if self._trash is not None and (touched or expired):
            await self._trash.write_index(await self._trash_repositories())
        return PruneResult(plan=plan, outcomes=tuple(outcomes), restored=restored, expired=expired)

    async def records(self) -> list[tuple[str, Record]]:
        """The records of the trash, each with its trash repository."""
        trash = self._trash
        return await trash.records(await self._trash_repositories()) if trash else []

    async def _trash_repositories(self) -> list[str]:
        assert self._trash is not None, "there is a trash"
        settings = self._trash.settings
        if "{project}" not in settings.repository:
            return [settings.repository]
        every = self._request.repositories or await self._repository_names()
        return sorted({settings.repository_for(name) for name in every})

    async def _repository_names(self) -> tuple[str, ...]:
        if self._request.source is Source.IMAGE_STREAMS:
            return await observe_streams.names(self._clusters[0])
        assert self._registry is not None, "a trash is in a registry"
        return await self._registry.catalogue(self._request.registry)

    async def _trash_state(self, inventory: Inventory, now: datetime) -> TrashState:
        """Only ImageStreams need it: the trash uses the same Images and blobs."""
        if self._trash is None or inventory.source is not Source.IMAGE_STREAMS:
            return NO_TRASH
        settings = self._trash.settings
        return TrashState(
            is_filled=True,
            repositories=frozenset(filter(settings.is_trash, inventory.repositories)),
            digests=frozenset(
                digest
                for _, record in await self.records()
                if record.expires_at > now
                for digest in record.manifests
            ),
            period=settings.period,
        )

    async def restore(self, place: str, record: Record) -> tuple[str, ...]:
        """With its signatures. Returns the tags that name another image now."""
        assert self._trash is not None, "a record comes from a trash"
        taken: list[str] = []
        attached = used_again.with_attached(record, await self.records())
        for where, one in [(place, record), *attached]:
            taken += await self._trash.restore(where, one)
            await self._ledger_file.forget(one.repository, one.manifests)
        return tuple(taken)

    async def _inventory(
        self, references: References, remembered: Ledger, *, is_confirmed: bool
    ) -> tuple[Inventory, datetime]:
        request = self._request
        if request.source is Source.IMAGE_STREAMS:
            if not self._clusters:
                raise Malformed(
                    what="source", text=request.source, reason="ImageStreams need a cluster"
                )
            cluster = self._clusters[0]
            now = await cluster.server_time() or self._clock.now()
            return await observe_streams.inventory(cluster, request.registry, self.progress), now
        assert self._registry is not None, "a plain registry is always opened"
        scope = self._scope()
        if self._storage is not None:
            time = storage_clock.server_time
            now = await time(self._storage) if is_confirmed else self._clock.now()
            return await observe_storage.inventory(self._storage, scope, known=self._known), now
        now = await self._registry.server_time(request.registry) or self._clock.now()
        found = await observe_registry.inventory(
            self._registry,
            scope,
            known=self._known,
            remembered=remembered,
            used=references.images,
        )
        return found, now

    def _scope(self) -> Scope:
        request, trash = self._request, self._trash
        return Scope(
            registry=request.registry,
            leave_out=trash.settings.is_trash if trash else lambda _: False,
            repositories=request.repositories,
            workers=request.workers,
            with_created=request.reading.settings.age_from is AgeFrom.CREATED,
            progress=self.progress,
        )

    async def _restore_used(self, observed: ObservedPruning) -> Restored:
        """Restores images that are used again, before anything is deleted."""
        if self._trash is None:
            return Restored()
        records = await self.records()
        places = {one.repository for _, one in records} & observed.inventory.repositories.keys()
        # An index that was pushed while an image was deleted may be attached and have no tag.
        asked = await self._with_referrers(observed, places)
        held = used_again.held_by_indexes(records, asked.inventory)
        return await restore_used.restore(
            self._trash, records, observed.references, observed.inventory, held=held
        )

    async def _expire(self, now: datetime) -> int:
        return await self._trash.expire(await self.records(), now) if self._trash else 0

    async def _apply(
        self,
        lines: Sequence[Deletion],
        observed: ObservedPruning,
        touched: list[Deletion],
        lock: RunLock,
    ) -> list[PruneOutcome]:
        """Adds the lines of each image to `touched` before the first of them is deleted."""
        new = NewReferences(observed.names)
        watched = list(zip(self._clusters, observed.clusters, strict=False))
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(
                watch.watching(watched, self._request.reading, new, self._clock)
            )
            if observed.inventory.source is Source.IMAGE_STREAMS:
                streams = ApplyingStreams(
                    self._clusters[0],
                    self._registry,
                    observed.inventory,
                    new=new,
                    clock=self._clock,
                    trash=self._trash,
                    now=observed.now,
                    progress=self.progress,
                )
                return await streams.run(lines)
            assert self._registry is not None, "a plain registry is always opened"
            applying = Applying(
                self._registry,
                observed.inventory,
                trash=self._trash if self._request.fills_trash else None,
                new=new,
                lock=lock,
                now=observed.now,
                progress=self.progress,
                touched=touched,
                workers=self._request.workers,
            )
            if self._storage is not None:
                await observe_storage.check_registry(
                    self._storage, self._registry, observed.inventory, lines
                )
            return await applying.run(lines)
