"""Changes the storage: removes and restores links, moves data aside and back, deletes it.

Every step may be interrupted and repeated. A failure is counted and reported, stops no other step,
and the next run tries it again. Data is counted as freed only after it is deleted.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from lading.kernel import digests
from lading.ports import registry as registries
from lading.ports import storage as storages
from lading.ports.registry import RegistryError
from lading.ports.storage import Storage, StorageError
from lading.pruning.engine.inventory import graph, parallel
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.sweep import layout, probe
from lading.pruning.sweep.manifest_reader import ManifestReader
from lading.pruning.sweep.probe import Replica
from lading.pruning.sweep.state import Condemned
from lading.pruning.sweep.types import Link, LinkKind, seconds

FAILURES_SHOWN_MAX = 20
_REFUSED = (registries.Denied, registries.Unauthorized, registries.MalformedAnswer)
"""A replica answers, but not for this repository."""
_EVERYWHERE = ""


class SweepCounts(msgspec.Struct):
    """Counts of a run."""

    condemned: int = 0
    links: int = 0
    freed_blobs: int = 0
    freed_bytes: int = 0
    put_back: int = 0
    restored: int = 0
    uploads: int = 0
    folders: int = 0
    answered: list[str] = []
    """Blobs that a replica still answers for."""
    failed: int = 0
    failures: list[str] = []
    """The first failures, as sentences."""

    def fail(self, error: object) -> None:
        self.failed += 1
        if len(self.failures) < FAILURES_SHOWN_MAX:
            self.failures.append(str(error))


class Sweeping:
    def __init__(
        self,
        storage: Storage,
        replicas: Sequence[Replica],
        *,
        through_registry: bool,
        progress: PruneProgress,
    ) -> None:
        self._storage = storage
        self._replicas = replicas
        self._through_registry = through_registry
        self._progress = progress
        self._copied: set[str] = set()
        """Digests that were copied aside and still have their data in place."""
        self._left_aside: set[str] = set()
        """Digests that only the next run may decide about."""
        self.counts = SweepCounts()

    def leave_aside(self, digests_: Iterable[str]) -> None:
        self._left_aside.update(digests_)

    async def put_back(self, digests_: Iterable[str]) -> None:
        async def back(digest: str) -> None:
            if await self._storage.head(layout.data_path(digest)) is None:
                await self._storage.move(layout.aside_path(digest), layout.data_path(digest))
                self.counts.put_back += 1
            elif await self._delete([layout.aside_path(digest)]):  # it was uploaded again
                self._left_aside.add(digest)

        async def tried(digest: str) -> None:
            try:
                await back(digest)
            except StorageError as error:
                self._left_aside.add(digest)
                self.counts.fail(error)

        await parallel.each(tried, (one for one in digests_ if one not in self._left_aside))

    async def restore(self, links: Iterable[Link]) -> set[str]:
        """Returns the digests with a link that could not be written."""
        by_path = {layout.link_path(one): one for one in links}
        failed: set[str] = set()

        async def write(path: str) -> None:
            try:
                await self._storage.put(path, by_path[path].data.encode())
            except StorageError as error:
                failed.add(by_path[path].data)
                self.counts.fail(error)
            else:
                self.counts.restored += 1

        await parallel.each(write, by_path)
        return failed

    async def unlink(
        self, links: Sequence[Link], *, reader: ManifestReader, listed_at: int
    ) -> set[str]:
        """Removes links, one repository after the other.

        Reads the newest manifests of a repository before and after. Returns the digests that keep a
        link, because it is needed again or could not be removed.
        """
        by_repository: dict[str, list[Link]] = {}
        for link in links:
            by_repository.setdefault(link.repository, []).append(link)
        self._progress.begin("removing links", len(links))
        gone: set[Link] = set()

        async def one(name: str) -> None:
            look = _RepositoryLook(self._storage, name, reader, listed_at)
            own = await look.unneeded(by_repository[name])
            failures = await self._unlink(own)
            still = set(await look.unneeded(own))
            held = _held(own, failures, reader)
            gone_now = {link for link in own if layout.link_path(link) not in failures}
            held_now = {link for link in gone_now if graph.key_of(link.data) in held}
            await self.restore([link for link in own if link not in still or link in held_now])
            gone.update((still & gone_now) - held_now)

        async def tried(name: str) -> None:
            try:
                await one(name)
            except* StorageError as failures:  # manifests are read several at a time
                self.counts.fail(failures.exceptions[0])
            self._progress.advance(len(by_repository[name]))

        await parallel.each(tried, by_repository)
        return {one.data for one in links if one not in gone}

    async def unlink_at_once(self, links: Sequence[Link], reader: ManifestReader) -> set[int]:
        """Removes links while no registry runs. Manifests go before the blobs that they name.

        Returns the numbers of the data that stays: its link, or the link of a manifest that needs
        it, could not be removed.
        """
        manifests = [one for one in links if one.kind is LinkKind.MANIFEST]
        failures = await self._delete_links([layout.link_path(one) for one in manifests])
        held = _held(manifests, failures, reader)
        await self.restore(
            one
            for one in manifests
            if graph.key_of(one.data) in held and layout.link_path(one) not in failures
        )
        layers = {
            layout.link_path(one): graph.key_of(one.data)
            for one in links
            if one.kind is LinkKind.LAYER and graph.key_of(one.data) not in held
        }
        return held | {layers[path] for path in await self._delete_links(list(layers))}

    async def _unlink(self, links: Sequence[Link]) -> Mapping[str, StorageError]:
        """A cache drops a layer with its link, and a manifest only after its link is deleted."""
        layers, manifests = (
            [one.digest for one in links if one.kind is kind] if self._through_registry else []
            for kind in (LinkKind.LAYER, LinkKind.MANIFEST)
        )

        async def forget(digest: str) -> None:
            await probe.unlink(self._replicas, links[0].repository, digests.parse(digest))

        await parallel.each(forget, layers)
        failures = await self._delete_links([layout.link_path(one) for one in links])
        await parallel.each(forget, manifests)
        return failures

    async def unanswered(self, condemned: dict[str, Condemned]) -> list[str]:
        """Returns the digests that no replica answers for in a repository that had them.

        If a replica refuses a repository, the digests of that repository stay. If it does not
        answer at all, all remaining digests stay.
        """
        self._progress.begin("asking the registry", len(condemned))
        found: list[str] = []
        failures: dict[str, RegistryError] = {}

        async def is_answered(digest: str) -> bool | None:
            """None if unknown."""
            for link in condemned[digest].links(digest):
                for replica in self._replicas:
                    if _EVERYWHERE in failures or link.repository in failures:
                        return None
                    place = replica.place(link.repository)
                    try:
                        if await replica.registry.has_blob(place, digests.parse(link.digest)):
                            return True
                    except RegistryError as error:
                        is_refused = isinstance(error, _REFUSED)
                        failures.setdefault(link.repository if is_refused else _EVERYWHERE, error)
                        return None
            return False

        async def ask(digest: str) -> None:
            self._progress.advance()
            answer = await is_answered(digest)
            if answer is not None:
                (self.counts.answered if answer else found).append(digest)

        await parallel.each(ask, condemned)
        for error in failures.values():
            self.counts.fail(error)
        return sorted(found)

    async def set_aside(self, digests_: Sequence[str]) -> None:
        self._progress.begin("moving data aside", len(digests_))

        async def move(digest: str) -> None:
            self._progress.advance()
            try:
                await self._storage.move(layout.data_path(digest), layout.aside_path(digest))
            except storages.NotFound:
                return
            except storages.Unavailable as error:
                # The storage may still delete the data, also what a push stores there meanwhile.
                self._left_aside.add(digest)
                self.counts.fail(error)
            except StorageError as error:
                self._copied.add(digest)
                self.counts.fail(error)

        await parallel.each(move, digests_)

    async def delete_aside(self, sizes: dict[str, int], *, copies: Collection[str]) -> set[str]:
        """Returns the digests that are deleted; without `copies` of data that is still in place."""
        going = sizes.keys() - self._left_aside
        only_copies = going & (self._copied | set(copies))
        await self._delete([layout.aside_path(one) for one in only_copies])
        moved = sorted(going - only_copies)
        return await self._free({layout.aside_path(one): (one, sizes[one]) for one in moved})

    async def delete_data(self, sizes: dict[str, int]) -> set[str]:
        return await self._free({layout.data_path(one): (one, sizes[one]) for one in sizes})

    async def _free(self, blobs: dict[str, tuple[str, int]]) -> set[str]:
        self._progress.begin("deleting data", len(blobs))
        failures = await self._delete(list(blobs))
        gone = {path: one for path, one in blobs.items() if path not in failures}
        self.counts.freed_blobs += len(gone)
        self.counts.freed_bytes += sum(size for _, size in gone.values())
        return {digest for digest, _ in gone.values()}

    async def forget_in_tags(self, links: Iterable[Link]) -> None:
        """The history of a tag has a link to each manifest that it named."""
        gone: dict[str, set[str]] = {}
        for link in links:
            gone.setdefault(link.repository, set()).add(link.digest)

        async def clean(name: str) -> None:
            paths = [
                one.path
                async for page in self._storage.pages(layout.tags_folder(name))
                for one in page
                if _digest_of_history(one.path) in gone[name]
            ]
            await self._delete_links(paths)

        async def tried(name: str) -> None:
            try:
                await clean(name)
            except StorageError as error:
                self.counts.fail(error)

        await parallel.each(tried, gone)

    async def remove_uploads(self, folders: Iterable[str]) -> None:
        async def remove(folder: str) -> None:
            try:
                pages = [page async for page in self._storage.pages(folder)]
            except StorageError as error:
                self.counts.fail(error)
                return
            found = [one for page in pages for one in page]
            if any(one.special for one in found):
                self.counts.fail(f"{folder}: a link was put there; the upload stays")
                return
            paths = [one.path for one in found]
            if paths and not await self._delete(paths):  # without, it was finished meanwhile
                self.counts.uploads += 1

        await parallel.each(remove, folders)

    async def _delete_links(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        failures = await self._delete(paths)  # first: several repositories count at a time
        self.counts.links += len(paths) - len(failures)
        return failures

    async def _delete(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        failures = await self._storage.delete(paths)
        for error in failures.values():
            self.counts.fail(error)
        return failures


def _held(
    links: Iterable[Link], failures: Mapping[str, StorageError], reader: ManifestReader
) -> set[int]:
    """The manifests with a link that could not be removed, and all that they need."""
    return reader.with_all_they_need(
        {
            graph.key_of(one.data)
            for one in links
            if one.kind is LinkKind.MANIFEST and layout.link_path(one) in failures
        }
    )


class _RepositoryLook:
    """The needs of the manifests of one repository that are newer than the listing."""

    def __init__(self, storage: Storage, name: str, reader: ManifestReader, listed_at: int) -> None:
        self._storage = storage
        self._name = name
        self._reader = reader
        self._listed_at = listed_at

    async def unneeded(self, links: Sequence[Link]) -> list[Link]:
        """The links among these that may be removed."""
        if not links:
            return []
        folder = layout.revisions_folder(self._name)
        times: dict[str, int] = {}
        async for page in self._storage.pages(folder):
            for one in page:
                if one.special:
                    return []  # what it hides is not known; the next list refuses it
                algorithm, encoded = one.path.split("/")[-3:-1]
                times[f"{algorithm}:{encoded}"] = seconds(one.modified_at)
        known = {one.digest for one in links}
        # Times are whole seconds: in that of the list a manifest may be older or younger than it.
        fresh = {
            digest
            for digest, time in times.items()
            if time > self._listed_at or (time == self._listed_at and digest not in known)
        }
        needs = await self._needs(fresh)
        if needs is None:
            return []
        needed = set(map(graph.key_of, fresh)) | needs
        return [one for one in links if graph.key_of(one.data) not in needed]

    async def _needs(self, fresh: set[str]) -> set[int] | None:
        """None if unknown: then every link stays until the next run.

        A link that is not sha256 names other data, which is not followed here.
        """
        keys = np.array([graph.key_of(one) for one in fresh], dtype=np.uint64)
        unknown = set(self._reader.unknown(keys).tolist())
        reader = ManifestReader(self._storage, PruneProgress())
        await reader.read(one for one in fresh if graph.key_of(one) in unknown)
        documents = reader.documents()
        if documents.opaque or self._reader.has_unreadable(set(keys.tolist())):
            return None
        found: set[int] = set(documents.targets.tolist())
        return found | self._reader.targets_of(set(keys.tolist()) - unknown)


def _digest_of_history(path: str) -> str:
    """The digest in `.../tags/TAG/index/ALGORITHM/HEX/link`; "" for another path."""
    parts = path.split("/")
    if len(parts) < 4 or parts[-1] != "link" or parts[-4] != "index":
        return ""
    return f"{parts[-3]}:{parts[-2]}"
