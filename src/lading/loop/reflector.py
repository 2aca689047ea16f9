"""Follows one resource of the API server: lists, watches, resumes, and lists again if necessary.

It reads the initial events of a watch or, if the server refuses that, pages. It resumes a watch
that ends, breaks or falls silent from the last revision. It lists again if that revision is gone,
unusable, or newer than the server's; the list also shows which objects are gone. An API server that
was restored from a backup starts at an earlier revision and sends nothing until it has caught up.
So a broken watch is resumed only after a check of the current revision. A `Sink` keeps the objects.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from typing import Generic, NoReturn, Protocol, TypeVar

import structlog

from lading.kernel.backoff import Backoff
from lading.kernel.objects import Key, Object, Resource
from lading.loop.tasks import Deadline
from lading.observability import metrics as measures
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import EventType, Kube, Selection, WatchEvent

T = TypeVar("T", bound=Object)
Put = TypeVar("Put", bound=Object, contravariant=True)
RETRY = Backoff(seconds_min=0.8, seconds_max=30, jitter_fraction=1.0)  # as client-go
WATCH_SECONDS_MIN = 300  # as client-go; jittered up to twice as long, so that watches spread
IDLE_SECONDS_MAX = 150  # the API server sends a bookmark every minute; two may get lost
HEALTHY_WATCH_SECONDS_MIN = 1.0  # a watch that ends sooner, without any news, is a failure
EVENTS_PER_TURN = 256  # then the other tasks of the process get theirs

log = structlog.get_logger(__name__)


class Sink(Protocol[Put]):
    """Receives the objects."""

    def known_keys(self) -> Iterable[Key]: ...

    def put(self, new: Put) -> None: ...

    def remove(self, key: Key) -> None: ...

    def reached(self, revision: str) -> None:
        """The sink now has everything up to this revision."""

    def complete(self) -> None:
        """The sink now has exactly the objects of one revision."""


class Reflector(Generic[T]):
    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        rng: random.Random,
        metrics: measures.Metrics,
        resource: Resource[T],
        selection: Selection,
        sink: Sink[T],
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._rng = rng
        self._resource = resource
        self._selection = selection
        self._sink = sink
        self._revision = ""
        self._initial_events_served = True
        self._failures = 0
        self._watch_broke = False
        """The last watch ended early: the API server may have been restored."""
        self._turn = 0
        label = measures.resource_label(resource)
        self._log = log.bind(resource=label)
        self._relists = metrics.informer_relists.labels(label)
        self._events = {type_: metrics.informer_events.labels(label, type_) for type_ in EventType}

    async def run(self) -> NoReturn:
        """Runs until cancelled. It retries after every error, with growing delays."""
        while True:
            try:
                await self._follow()
            except (kube.KubeError, TimeoutError) as error:
                if revision_is_useless(error):
                    self._revision = ""
                self._failures += 1
                self._log.warning("watch failed", error=str(error), failures=self._failures)
                await self._back_off()

    async def _follow(self) -> None:
        """Runs one watch, after a list if there is no revision to resume from."""
        if self._revision and self._watch_broke:
            await self._check_revision()
        if self._revision or not self._initial_events_served:
            if not self._revision:
                await self._list()
            await self._watch()
            return
        try:
            await self._watch(send_initial_events=True)
        except (kube.Invalid, TimeoutError):
            if self._revision:
                raise
            self._initial_events_served = False

    async def _check_revision(self) -> None:
        page = await self._kube.page(self._resource, self._selection, limit=1)
        self._forget_if_earlier(page.resource_version)

    def _forget_if_earlier(self, revision: str) -> bool:
        """Whether the server has an older revision; then everything is listed again."""
        went_back = is_earlier(revision, self._revision)
        if went_back:
            self._log.warning(
                "API server returned an older revision", revision=revision, before=self._revision
            )
            self._revision = ""
        return went_back

    async def _back_off(self) -> None:
        delay = RETRY.delay_seconds(failures=self._failures, jitter=self._rng.random())
        await self._clock.sleep(delay)

    async def _list(self) -> None:
        found: dict[Key, T] = {}
        token = ""
        while True:
            page = await self._kube.page(self._resource, self._selection, continue_token=token)
            found |= {one.key: one for one in page.items}
            token = page.continue_token
            if not token:
                break
        await self._replace(found, page.resource_version)

    async def _watch(self, *, send_initial_events: bool = False) -> None:
        started_at = self._clock.monotonic()
        timeout_seconds = round(WATCH_SECONDS_MIN * (1 + self._rng.random()))
        self._watch_broke = True
        deadline = Deadline(self._clock, IDLE_SECONDS_MAX)
        stream = self._kube.watch(
            self._resource,
            self._selection,
            resource_version=self._revision,
            send_initial_events=send_initial_events,
            timeout_seconds=timeout_seconds,
        )
        has_news = await deadline.guard(self._receive(stream, deadline))
        lasted_seconds = self._clock.monotonic() - started_at
        self._watch_broke = lasted_seconds < timeout_seconds
        if not has_news and lasted_seconds < HEALTHY_WATCH_SECONDS_MIN:
            raise kube.Unavailable("the watch ended at once, without an event")

    async def _receive(self, stream: AsyncIterator[WatchEvent[T]], deadline: Deadline) -> bool:
        """Reads until the stream ends; False if it had no events."""
        if not self._revision:
            await self._receive_initial(stream, deadline)
        started_from = self._revision
        async for event in stream:
            deadline.restart()
            if self._forget_if_earlier(event.resource_version):
                raise kube.Unavailable("the API server returned an older revision")
            if event.resource_version != self._revision:
                self._failures = 0
            self._take(event)
            await self._yield_sometimes()
        return self._revision != started_from

    async def _receive_initial(
        self, stream: AsyncIterator[WatchEvent[T]], deadline: Deadline
    ) -> None:
        found: dict[Key, T] = {}
        async for event in stream:
            deadline.restart()
            self._events[event.type].inc()
            if event.initial_events_end:
                return await self._replace(found, event.resource_version)
            if event.type is EventType.DELETED:
                found.pop(event.object.key, None)
            elif event.type is not EventType.BOOKMARK:
                found[event.object.key] = event.object
            await self._yield_sometimes()
        raise kube.Unavailable("the watch ended before all initial events arrived")

    async def _replace(self, found: dict[Key, T], revision: str) -> None:
        self._relists.inc()
        for key in [key for key in self._sink.known_keys() if key not in found]:
            self._sink.remove(key)
            await self._yield_sometimes()
        for one in found.values():
            self._sink.put(one)
            await self._yield_sometimes()
        self._revision = revision
        self._sink.reached(revision)
        self._sink.complete()

    def _take(self, event: WatchEvent[T]) -> None:
        self._events[event.type].inc()
        if event.type is EventType.DELETED:
            self._sink.remove(event.object.key)
        elif event.type is not EventType.BOOKMARK:
            self._sink.put(event.object)
        self._revision = event.resource_version
        self._sink.reached(self._revision)

    async def _yield_sometimes(self) -> None:
        self._turn += 1
        if self._turn % EVENTS_PER_TURN == 0:
            await asyncio.sleep(0)


def is_earlier(revision: str, than: str) -> bool:
    """Revisions are growing numbers; other values cannot be compared."""
    return revision.isdigit() and than.isdigit() and int(revision) < int(than)


def revision_is_useless(error: Exception) -> bool:
    """The revision was compacted, or leads to an unreadable event."""
    return isinstance(error, kube.KubeError) and not isinstance(error, kube.Transient)
