"""Watches references while images are deleted: a new reference stops the deletions of its image.

If a watch is lost, all deletions stop, because new references may be missed.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence, Set
from contextlib import asynccontextmanager

from lading.kernel.backoff import Backoff
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Cluster, EventType, Untyped
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.engine.references import names
from lading.pruning.engine.references.names import RegistryNames
from lading.pruning.engine.references.observe import ClusterReferences, Reading
from lading.pruning.engine.types import Deletion, Mention, References, Repository

WATCH_SECONDS_MAX = 290  # API servers end a watch after 5 to 10 minutes by themselves
FAILURES_MAX = 5
RETRY = Backoff(seconds_min=1, seconds_max=30)


class WatchLost(Exception):
    """References can no longer be watched. The run deletes no more."""


class NewReferences:
    """The references that are newer than the lists."""

    def __init__(self, registry_names: RegistryNames) -> None:
        self._names = registry_names
        self._mentions: dict[Mention, None] = {}
        self._references = References()
        self._in_streams: set[str] = set()
        self._lost = ""

    def add(self, mentions: Iterable[Mention]) -> None:
        fresh = [mention for mention in mentions if mention not in self._mentions]
        if fresh:
            self._mentions |= dict.fromkeys(fresh)
            self._references = names.gather(self._mentions, self._names)

    def add_stream(self, stream: Repository) -> None:
        """Records a changed ImageStream and the digests that it names."""
        self._in_streams |= {item.digest for tag in stream.tags for item in tag.revisions}

    def take_stream_digests(self) -> set[str]:
        """The digests of ImageStreams that changed since the last call."""
        found, self._in_streams = self._in_streams, set()
        return found

    def watch_ended(self, task: "asyncio.Task[None]") -> None:
        """An unexpected error of a watch must not look like no new references."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.lose(f"a watch ended: {error!r}")

    def lose(self, message: str) -> None:
        self._lost = self._lost or message

    def user_of(self, lines: Sequence[Deletion], contained: Set[str] = frozenset()) -> str:
        """A new user of one of these, or of what they contain; empty if none."""
        if self._lost:
            raise WatchLost(self._lost)
        for digest in contained & self._references.digests.keys():
            return self._references.digests[digest][0]
        for line in lines:
            found = names.user_of(
                self._references, repository=line.repository, tag=line.tag, digest=line.digest
            )
            if found:
                return found
        return ""

    def named_in(self, repository: str) -> dict[str, str]:
        """The newly used digests of this repository, each with one user."""
        return {
            digest: users[0]
            for (path, digest), users in self._references.images.items()
            if names.paths_end_alike(path, repository)
        }


@asynccontextmanager
async def watching(
    clusters: Sequence[tuple[Cluster, ClusterReferences]],
    reading: Reading,
    new: NewReferences,
    clock: Clock,
    *,
    retry: Backoff = RETRY,
) -> AsyncIterator[NewReferences]:
    """Watches every kind of every cluster until the context ends.

    It starts all watches first, so that a missing right is known before the first deletion.
    """
    for cluster, found in clusters:
        await asyncio.gather(*(_check(cluster, *one) for one in found.watched))
    tasks = [
        asyncio.create_task(_follow(cluster, resource, version, reading, new, clock, retry))
        for cluster, found in clusters
        for resource, version in found.watched
    ]
    for task in tasks:
        task.add_done_callback(new.watch_ended)
    try:
        yield new
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _check(cluster: Cluster, resource: Untyped, version: str) -> None:
    try:
        await cluster.check_watch(resource, resource_version=version)
    except kube.KubeError as error:
        raise WatchLost(
            f"{resource.plural} cannot be watched: {error}. Nothing is deleted, because a new"
            " reference would not be seen"
        ) from error


async def _follow(
    cluster: Cluster,
    resource: Untyped,
    version: str,
    reading: Reading,
    new: NewReferences,
    clock: Clock,
    retry: Backoff,
) -> None:
    failures = 0
    while True:
        try:
            events = cluster.watch(
                resource, resource_version=version, timeout_seconds=WATCH_SECONDS_MAX
            )
            async for event in events:
                version, failures = event.resource_version or version, 0
                if event.type in (EventType.ADDED, EventType.MODIFIED):
                    # A finished pod that changes now may be about to run again: no cutoff.
                    new.add(reading.mentions(event.object, resource, None))
                    if (resource.group, resource.plural) == observe_streams.STREAMS:
                        new.add_stream(observe_streams.repository(event.object, {}))
        except kube.Transient as error:
            failures += 1
            if failures > FAILURES_MAX:
                new.lose(f"the watch of {resource.plural} failed: {error}")
                return
            await clock.sleep(retry.delay_seconds(failures=failures, jitter=0.0))
        except kube.KubeError as error:
            new.lose(f"the watch of {resource.plural} failed: {error}")
            return
