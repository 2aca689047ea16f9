"""Runs one sweep: observe, plan, guards, apply, and the second look before data is deleted."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime
from typing import Protocol

import msgspec

from lading.kernel.values import replace
from lading.ports import storage as storages
from lading.ports.clock import Clock
from lading.ports.kube import Cluster
from lading.ports.node import StateFile
from lading.ports.storage import Storage
from lading.pruning.engine.decisions import rules
from lading.pruning.engine.decisions.guards import GuardRefused, Limits, Refusal
from lading.pruning.engine.inventory import content, graph, observe_streams, storage_clock
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references import mirrors, names
from lading.pruning.engine.references import observe as engine_observe
from lading.pruning.engine.references.observe import ClusterReferences, Reading
from lading.pruning.engine.types import References
from lading.pruning.sweep import guards, layout, manifest_reader, observe, probe
from lading.pruning.sweep import plan as planning
from lading.pruning.sweep import state as states
from lading.pruning.sweep.apply import SweepCounts, Sweeping
from lading.pruning.sweep.manifest_reader import ManifestReader
from lading.pruning.sweep.probe import PROBE_REPOSITORY, Replica
from lading.pruning.sweep.state import SweepState
from lading.pruning.sweep.types import (
    LATE_DELETION_MAX,
    LinkKind,
    Listing,
    Roots,
    SweepFacts,
    SweepPlan,
    SweepSettings,
    seconds,
)


class Lock(Protocol):
    def held(self) -> AbstractAsyncContextManager[None]: ...

    async def check(self) -> None: ...


class SweepRequest(msgspec.Struct, frozen=True, kw_only=True):
    settings: SweepSettings
    limits: Limits
    untagged: bool = False
    with_images: bool = False
    """Then a cluster without OpenShift's Images is an error."""
    reading: Reading
    registry_names: tuple[str, ...] = ()
    mirrors: tuple[tuple[str, str], ...] = ()


class ObservedSweep(msgspec.Struct, frozen=True, kw_only=True):
    facts: SweepFacts
    state: SweepState
    references: References | None
    now: datetime


class SweepResult(msgspec.Struct, frozen=True, kw_only=True):
    plan: SweepPlan
    listing: Listing
    counts: SweepCounts


class Sweeper:
    def __init__(
        self,
        request: SweepRequest,
        *,
        storage: Storage,
        replicas: Sequence[Replica],
        clusters: Sequence[Cluster],
        files: Sequence[ClusterReferences],
        state_file: StateFile,
        known_file: StateFile,
        lock: Lock,
        clock: Clock,
    ) -> None:
        self._request = request
        self._storage = storage
        self._replicas = replicas
        self._clusters = clusters
        self._files = files
        self._state_file = state_file
        self._known_file = known_file
        self._lock = lock
        self._clock = clock
        self.progress = PruneProgress()
        self._reader = ManifestReader(storage, self.progress)

    async def preview(self) -> tuple[SweepPlan, ObservedSweep, tuple[Refusal, ...]]:
        """Only reads: it uses the clock of this machine, and pushes no probe."""
        await observe.check(self._storage)
        observed = await self._observe(self._clock.now())
        plan = self._plan(observed)
        return plan, observed, self._refusals(plan, observed)

    async def run(self) -> SweepResult:
        await observe.check(self._storage)
        async with AsyncExitStack() as stack:
            is_locked = await self._locked(stack)
            through_registry = await self._probe()
            now = await self._now()
            sweeping = Sweeping(
                self._storage,
                self._replicas,
                through_registry=through_registry,
                progress=self.progress,
            )
            observed = await self._observe(now)
            for skipped in observed.facts.listing.skipped():
                sweeping.counts.fail(skipped)
            plan = self._plan(observed)
            if refusals := self._refusals(plan, observed):
                raise GuardRefused(refusals)
            if is_locked:
                await self._lock.check()
            if self._request.settings.is_offline:
                await self._sweep_at_once(sweeping, plan, observed)
            else:
                await self._sweep(sweeping, plan, observed)
            await self._clean(sweeping, plan, observed)
            return SweepResult(plan=plan, listing=observed.facts.listing, counts=sweeping.counts)

    async def _locked(self, stack: AsyncExitStack) -> bool:
        """On a full disk, an offline sweep runs without a lock."""
        try:
            await stack.enter_async_context(self._lock.held())
        except storages.Full:
            if not self._request.settings.is_offline:
                raise
            return False
        return True

    async def _now(self) -> datetime:
        try:
            return await storage_clock.server_time(self._storage)
        except storages.Full:
            return self._clock.now()

    async def _probe(self) -> bool:
        """Whether links must be deleted through the registry, because it caches them."""
        if self._request.settings.is_offline:
            return False
        self.progress.begin("pushing a probe image", len(self._replicas))
        found = False
        for replica in self._replicas:
            place = PROBE_REPOSITORY
            found |= await probe.has_cache(self._storage, replica, place)
            self.progress.advance()
        return found

    async def _observe(self, now: datetime) -> ObservedSweep:
        """Reads references before the listing, so that it has every image that they name."""
        references = await self._references() if self._request.untagged else None
        images = await self._images()
        state = states.decode(await self._state_file.read())
        self._reader.know(await self._known_file.read())
        facts = await self._facts(references, images, state, now, with_blobs=True)
        return ObservedSweep(facts=facts, state=state, references=references, now=now)

    async def _facts(
        self,
        references: References | None,
        images: tuple[str, ...],
        state: SweepState,
        now: datetime,
        *,
        with_blobs: bool,
    ) -> SweepFacts:
        listing = await observe.listing(
            self._storage,
            self.progress,
            with_blobs=with_blobs,
            with_tags=self._request.untagged or state.has_manifests,
        )
        tagged, unreadable = await observe.tag_digests(self._storage, listing)
        unread = manifest_reader.unread_manifests(listing, self._reader)
        await self._reader.read(unread, count=len(unread))
        aside = await observe.aside(self._storage)
        return SweepFacts(
            listing=listing,
            documents=self._reader.documents(),
            roots=None if references is None else _roots(listing, references, tagged, unreadable),
            tagged=tagged,
            image_digests=images,
            aside=tuple(sorted(aside)),
            aside_lately=frozenset(
                digest for digest, one in aside.items() if now - one.modified_at < LATE_DELETION_MAX
            ),
        )

    async def _references(self) -> References:
        request = self._request
        read = await engine_observe.of_clusters(
            self._clusters, self._clock, request.reading, self.progress, files=self._files
        )
        found = (*read, *self._files)
        registry_names = mirrors.registry_names(
            request.registry_names,
            [*request.mirrors, *(pair for one in found for pair in one.mirrors)],
        )
        return names.gather([mention for one in found for mention in one.mentions], registry_names)

    async def _images(self) -> tuple[str, ...]:
        """The Images of all clusters. Missing Images are an error only with --cluster-images."""
        found: set[str] = set()
        for cluster in self._clusters:
            try:
                inventory = await observe_streams.inventory(cluster, "", self.progress)
            except observe_streams.NoImageStreams:
                if self._request.with_images:
                    raise
                continue
            for manifest in inventory.manifests.values():
                found.update((manifest.digest, *content.needs(manifest)))
        return tuple(sorted(found))

    def _plan(self, observed: ObservedSweep) -> SweepPlan:
        self.progress.begin("planning")
        return planning.plan(observed.facts, observed.state, self._request.settings, observed.now)

    def _refusals(self, plan: SweepPlan, observed: ObservedSweep) -> tuple[Refusal, ...]:
        return guards.check(
            plan,
            observed.facts,
            self._request.limits,
            references=observed.references,
            references_last_time=observed.state.references,
        )

    async def _sweep_at_once(
        self, sweeping: Sweeping, plan: SweepPlan, observed: ObservedSweep
    ) -> None:
        listing = observed.facts.listing
        sweeping.leave_aside(plan.left_aside)
        await sweeping.put_back(plan.put_back)
        unrestored = await sweeping.restore(plan.restored)
        held = await sweeping.unlink_at_once(plan.links, self._reader)
        due = _sizes(listing, plan.swept.tolist())
        free = {one: size for one, size in due.items() if graph.key_of(one) not in held}
        gone = await sweeping.delete_data(free)
        gone |= await sweeping.delete_aside(
            await self._aside(), copies=_in_place(listing, observed.facts.aside)
        )
        await sweeping.forget_in_tags(
            one for one in plan.links if one.kind is LinkKind.MANIFEST and one.data in gone
        )
        state = states.with_used_again(observed.state, plan.used_again)
        state = states.without(state, {*plan.dropped, *gone} - unrestored)
        if state != observed.state:
            await self._write_last(sweeping, state)

    async def _sweep(self, sweeping: Sweeping, plan: SweepPlan, observed: ObservedSweep) -> None:
        """Writes the state before it removes links, so that the next run can restore them."""
        listing = observed.facts.listing
        sweeping.leave_aside(plan.left_aside)
        await sweeping.put_back(plan.put_back)
        unrestored = await sweeping.restore(plan.restored)
        condemned = [listing.blobs.digest(one) for one in plan.condemned.tolist()]
        state = states.with_used_again(observed.state, plan.used_again)
        state = states.without(state, set(plan.dropped) - unrestored)
        state = states.with_condemned(state, condemned, plan.links, observed.now)
        if observed.references is not None:
            count = observed.references.of_this_registry
            state = replace(state, references=count)
        if state != observed.state:
            await self._write(state)
        linked = await sweeping.unlink(
            plan.links, reader=self._reader, listed_at=seconds(observed.now)
        )
        sweeping.counts.condemned = len(set(condemned) - linked)
        due = _sizes(listing, plan.swept.tolist())
        chosen = await sweeping.unanswered({one: state.condemned[one] for one in due})
        await self._lock.check()
        await sweeping.set_aside(chosen)
        if plan.links or chosen or observed.facts.aside:
            await self._finish(sweeping, observed, state, chosen)

    async def _finish(
        self, sweeping: Sweeping, observed: ObservedSweep, state: SweepState, moved: list[str]
    ) -> None:
        """The second look: moves back what is linked or needed again, and deletes the rest."""
        settings = self._request.settings
        self.progress.begin("waiting for uploads in progress")
        await self._clock.sleep(settings.second_look_after.total_seconds())
        facts = await self._facts(
            observed.references,
            observed.facts.image_digests,
            state,
            observed.now,
            with_blobs=False,
        )
        again = planning.second_look(facts, state, settings, observed.now)
        await sweeping.put_back(again.put_back)
        await sweeping.restore(again.restored)
        left = await self._aside()
        await self._lock.check()
        copies = _in_place(observed.facts.listing, observed.facts.aside) - set(moved)
        gone = await sweeping.delete_aside(left, copies=copies)
        await sweeping.forget_in_tags(
            link
            for digest in gone & state.condemned.keys()
            for link in state.condemned[digest].links(digest)
            if link.kind is LinkKind.MANIFEST
        )
        state = states.with_used_again(state, again.used_again)
        await self._write_last(sweeping, states.without(state, gone))

    async def _aside(self) -> dict[str, int]:
        """The digests that are aside, with their sizes."""
        found = await observe.aside(self._storage)
        return {digest: one.size_bytes for digest, one in found.items()}

    async def _clean(self, sweeping: Sweeping, plan: SweepPlan, observed: ObservedSweep) -> None:
        await sweeping.remove_uploads(plan.uploads)
        before = observed.now - self._request.settings.grace
        sweeping.counts.folders = await self._storage.remove_empty_folders(
            layout.ROOT, before=before
        )
        try:
            await self._known_file.replace(self._reader.known(observed.facts.listing))
        except (storages.StorageError, OSError):
            return  # it only saves time

    async def _write(self, state: SweepState) -> None:
        await self._state_file.replace(states.encode(state))

    async def _write_last(self, sweeping: Sweeping, state: SweepState) -> None:
        """Called last. If the state cannot be written, the next run finds the same facts again."""
        try:
            await self._write(state)
        except (storages.StorageError, OSError) as error:
            sweeping.counts.fail(error)


def _roots(
    listing: Listing, references: References, tagged: frozenset[str], unreadable: frozenset[str]
) -> Roots:
    named = rules.repositories_named_by_unreadable(references, listing.repositories)
    return Roots(
        digests=tagged,
        used=frozenset(references.digests),
        repositories=unreadable | named.keys(),
    )


def _sizes(listing: Listing, positions: Sequence[int]) -> dict[str, int]:
    return {listing.blobs.digest(one): int(listing.blobs.sizes[one]) for one in positions}


def _in_place(listing: Listing, digests: Iterable[str]) -> set[str]:
    """The digests that have their data in place."""
    return {one for one in digests if listing.blobs.has(one)}
