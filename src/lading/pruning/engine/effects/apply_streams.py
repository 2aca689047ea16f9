"""Executes the plan of ImageStreams: status first, then links, then blobs and Images.

With a trash, images are copied there first. Links are deleted only from a stream that was updated;
a blob or an Image only if every stream that had it was updated, and no stream names it now. A
failure stops only the steps that depend on it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from lading.kernel import digests
from lading.kernel.backoff import Backoff
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.ports import kube
from lading.ports import registry as registries
from lading.ports.clock import Clock
from lading.ports.kube import Cluster, Untyped
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.effects.outcomes import PruneOutcome, Result, of_all
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.inventory.observe_streams import IMAGES, STREAMS
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references.watch import NewReferences
from lading.pruning.engine.trash.trash import NotWhole, Trash, read_whole
from lading.pruning.engine.types import Deletion, Inventory, What

CONFLICTS_MAX = 5  # as oc
CONFLICT_RETRY = Backoff(seconds_min=0.01, seconds_max=1)  # the first delay as oc


class ApplyingStreams:
    """Executes one plan on the streams and Images of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        registry: RegistryAdministration | None,
        inventory: Inventory,
        *,
        new: NewReferences,
        clock: Clock,
        trash: Trash | None,
        now: datetime,
        progress: PruneProgress,
        retry: Backoff = CONFLICT_RETRY,
    ) -> None:
        self._progress = progress
        self._cluster = cluster
        self._registry = registry
        self._inventory = inventory
        self._new = new
        self._clock = clock
        self._retry = retry
        self._trash = trash
        self._now = now
        self._kinds: dict[tuple[str, str], Untyped] = {}
        self._pushed_since: dict[str, InventoryManifest | None] = {}
        """Images that streams name and the inventory does not have; None if they do not exist."""

    async def run(self, lines: Sequence[Deletion]) -> list[PruneOutcome]:
        self._kinds = {(one.group, one.plural): one for one in await self._cluster.kinds()}
        outcomes: list[PruneOutcome] = []
        streams: dict[str, list[Deletion]] = {}
        images: dict[str, list[Deletion]] = {}
        for line in lines:
            (streams if line.repository else images).setdefault(line.group, []).append(line)
        self._progress.begin("deleting", len(lines))
        for name, own in streams.items():
            outcomes += await self._stream(name, own)
            self._progress.advance(len(own))
        return outcomes + await self._images(images)

    async def _images(self, images: Mapping[str, list[Deletion]]) -> list[PruneOutcome]:
        if not images:
            return []
        self._new.take_stream_digests()  # the list that follows knows more
        try:
            named = await self._named_by_streams()
        except kube.KubeError as error:
            lines = [line for own in images.values() for line in own]
            return of_all(lines, Result.FAILED, f"what streams name now cannot be read: {error}")
        in_streams: set[str] = set()
        outcomes: list[PruneOutcome] = []
        for digest, own in images.items():
            named |= self._new.take_stream_digests()
            try:
                in_streams |= await self._content_of(named)
            except kube.KubeError as error:
                outcomes += of_all(own, Result.FAILED, f"what streams need cannot be read: {error}")
                continue
            named.clear()
            outcomes += await self._image(digest, own, in_streams)
            self._progress.advance(len(own))
        return outcomes

    async def _stream(self, name: str, lines: list[Deletion]) -> list[PruneOutcome]:
        items = [line for line in lines if line.what is What.TAG_ITEM]
        user = self._new.user_of(items)
        if user:
            return of_all(lines, Result.NEW_REFERENCE, f"now used by {user}")
        try:
            await self._into_trash(name, lines)
        except NotWhole as error:
            return of_all(lines, Result.CANNOT_TRASH, str(error))
        except registries.RegistryError as error:
            return of_all(lines, Result.FAILED, f"trash: {error}")
        try:
            needed = await self._content_of(await self._trim(name, items))
        except kube.KubeError as error:
            return of_all(lines, Result.FAILED, f"imagestream {name}: {error}")
        outcomes = of_all(items, Result.DELETED, "")
        for line in lines:
            if line.what in (What.LAYER_LINK, What.MANIFEST_LINK):
                outcomes.append(await self._link(line, needed))
        return outcomes

    async def _into_trash(self, name: str, lines: Sequence[Deletion]) -> None:
        """Copies each image that leaves the stream into the trash.

        An imported image that is not in the registry has nothing to copy.
        """
        if self._trash is None or self._trash.settings.is_trash(name):
            return
        assert self._registry is not None, "a trash is in a registry"
        unlinked = {line.digest for line in lines if line.what is What.MANIFEST_LINK}
        items = [line for line in lines if line.what is What.TAG_ITEM and line.digest in unlinked]
        place = Reference(registry=self._inventory.registry, repository=name)
        for digest in dict.fromkeys(line.digest for line in items):
            contents: dict[str, Manifest] = {}
            await read_whole(self._registry, place.at(digests.parse(digest)), contents)
            if not contents:
                continue
            own = [line for line in items if line.digest == digest]
            await self._trash.put(
                name,
                digest,
                contents.values(),
                tags={line.tag: digest for line in own},
                reason=f"{own[0].reason}: {own[0].because}",
                now=self._now,
            )

    async def _trim(self, name: str, items: Sequence[Deletion]) -> set[str]:
        """Updates the status. Returns the digests that remain in the stream."""
        namespace, _, own_name = name.partition("/")
        for attempt in range(1, CONFLICTS_MAX + 1):
            stream = await self._cluster.get(self._kinds[STREAMS], own_name, namespace=namespace)
            trimmed = self._trimmed(name, stream, items)
            try:
                await self._cluster.replace_status(self._kinds[STREAMS], trimmed)
            except kube.Conflict:
                if attempt == CONFLICTS_MAX:
                    raise
                delay = self._retry.delay_seconds(failures=attempt, jitter=0.0)
                await self._clock.sleep(delay)
                continue
            return _digests_of(trimmed)
        raise AssertionError("the last attempt returns or raises")

    def _trimmed(
        self, name: str, stream: Mapping[str, Any], items: Sequence[Deletion]
    ) -> dict[str, Any]:
        """Removes the items of the plan. A later push is another item and stays."""
        planned = self._inventory.repositories[name]
        dates = {
            (tag.name, position): revision.pushed_at
            for tag in planned.tags
            for position, revision in enumerate(tag.revisions)
        }
        gone = {(line.tag, line.digest, dates.get((line.tag, line.revision))) for line in items}
        fresh = observe_streams.repository(stream, {})
        tags: list[dict[str, Any]] = []
        status = dict(stream.get("status") or {})
        for raw, tag in zip(status.get("tags") or (), fresh.tags, strict=True):
            kept = [
                item
                for item, revision in zip(raw.get("items") or (), tag.revisions, strict=True)
                if (tag.name, revision.digest, revision.pushed_at) not in gone
            ]
            if kept:
                tags.append({**raw, "items": kept})
        return {**stream, "status": {**status, "tags": tags}}

    async def _link(self, line: Deletion, needed: set[str]) -> PruneOutcome:
        if line.digest in needed:
            return PruneOutcome(line=line, result=Result.CHANGED, message="the stream has it again")
        assert self._registry is not None, "links are planned only when the registry is pruned"
        reference = Reference(registry=self._inventory.registry, repository=line.repository)
        try:
            digest = digests.parse(line.digest)
            if line.what is What.LAYER_LINK:
                await self._registry.delete_blob(reference, digest)
            else:
                await self._registry.delete(reference.at(digest))
        except (registries.RegistryError, Malformed) as error:
            return PruneOutcome(line=line, result=Result.FAILED, message=str(error))
        return PruneOutcome(line=line, result=Result.DELETED)

    async def _content_of(self, roots: Iterable[str]) -> set[str]:
        """All that these Images need, also Images that were pushed after the plan."""
        found: set[str] = set()
        pending = list(roots)
        while pending:
            digest = pending.pop()
            if digest not in found:
                found.add(digest)
                image = await self._known(digest)
                if image is not None:
                    pending += image.children
                    found.update(image.blobs)
        return found

    async def _known(self, digest: str) -> InventoryManifest | None:
        known = self._inventory.manifests.get(digest)
        if known is not None:
            return known
        if digest not in self._pushed_since:
            try:
                document = await self._cluster.get(self._kinds[IMAGES], digest)
                self._pushed_since[digest] = observe_streams.image(document)
            except kube.NotFound:
                self._pushed_since[digest] = None
        return self._pushed_since[digest]

    async def _named_by_streams(self) -> set[str]:
        """The digests that the streams name now, also streams that could not be updated."""
        fresh = await observe_streams.repositories(self._cluster, self._kinds[STREAMS])
        return {
            revision.digest
            for stream in fresh.values()
            for tag in stream.tags
            for revision in tag.revisions
        }

    async def _image(
        self, digest: str, lines: list[Deletion], in_streams: set[str]
    ) -> list[PruneOutcome]:
        if digest in in_streams:
            return of_all(lines, Result.CHANGED, "a stream names it")
        user = self._new.user_of(lines)
        if user:
            return of_all(lines, Result.NEW_REFERENCE, f"now used by {user}")
        outcomes: list[PruneOutcome] = []
        for line in lines:
            if line.what is not What.BLOB:
                continue
            if line.digest in in_streams:
                outcomes.append(
                    PruneOutcome(line=line, result=Result.CHANGED, message="a stream needs it")
                )
            else:
                outcomes.append(await self._blob(line))
        failed = any(one.result is Result.FAILED for one in outcomes)
        objects = [line for line in lines if line.what is What.IMAGE]
        return outcomes + [await self._image_object(line, keep=failed) for line in objects]

    async def _blob(self, line: Deletion) -> PruneOutcome:
        assert self._registry is not None, "blobs are planned only when the registry is pruned"
        try:
            digest = digests.parse(line.digest)
            await self._registry.delete_blob_everywhere(self._inventory.registry, digest)
        except (registries.RegistryError, Malformed) as error:
            return PruneOutcome(line=line, result=Result.FAILED, message=str(error))
        return PruneOutcome(line=line, result=Result.DELETED)

    async def _image_object(self, line: Deletion, *, keep: bool) -> PruneOutcome:
        """The object is kept while one of its blobs is, so that the next run finds the rest."""
        if keep:
            message = "one of its blobs was not deleted"
            return PruneOutcome(line=line, result=Result.CHANGED, message=message)
        try:
            await self._cluster.delete(self._kinds[IMAGES], line.digest)
        except kube.NotFound:
            return PruneOutcome(line=line, result=Result.DELETED)
        except kube.KubeError as error:
            message = f"image {line.digest}: {error}"
            return PruneOutcome(line=line, result=Result.FAILED, message=message)
        return PruneOutcome(line=line, result=Result.DELETED)


def _digests_of(stream: Mapping[str, Any]) -> set[str]:
    fresh = observe_streams.repository(stream, {})
    return {revision.digest for tag in fresh.tags for revision in tag.revisions}
