"""Writes events.k8s.io events: what happened to an object, for the people who look at it.

Recording returns at once and never fails; writing is best effort, in the background. The same
occurrence again within a few minutes raises the count of one event instead of making another.
Nothing that looks like a secret gets in.
"""

import asyncio
import random
from datetime import timedelta

import structlog

from lading.api.events import EVENTS, ObjectReference
from lading.loop import occurrences
from lading.loop.occurrences import Occurrence, Series, Severity
from lading.loop.queue import WorkQueue
from lading.observability import redaction
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube

SERIES_MAX = 1024  # the oldest is forgotten; should it happen again, it is a new event
UNWRITTEN_MAX = 256  # while the API server is slow; what comes on top is dropped and counted
SERIES_IDLE_MAX = timedelta(minutes=6)  # as client-go; later it is a new event
SERIES_WRITE_SECONDS_MIN = 30.0  # a count may lag behind; the API server must not suffer for it
ATTEMPTS_MAX = 5

log = structlog.get_logger(__name__)


class Recorder:
    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        chance: random.Random,
        metrics: Metrics,
        controller: str,
        instance: str,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._controller = controller
        self._instance = instance
        self._dropped = metrics.events_dropped
        self._series: dict[Occurrence, Series] = {}
        self._queue: WorkQueue[Occurrence] = WorkQueue(clock, chance)

    def record(
        self,
        regarding: ObjectReference,
        *,
        reason: str,
        action: str,
        note: str,
        severity: Severity = Severity.NORMAL,
    ) -> None:
        """Notes that it happened; `reason` and `action` are UpperCamelCase words."""
        occurrence = Occurrence(
            regarding=regarding,
            severity=severity,
            reason=reason,
            action=action,
            note=occurrences.shortened(redaction.redact_text(note)),
        )
        series = self._series.get(occurrence)
        if series is None or self._clock.now() - series.last_at > SERIES_IDLE_MAX:
            self._begin(occurrence)
        else:
            series.count += 1
            series.last_at = self._clock.now()
            self._queue.add_after(occurrence, SERIES_WRITE_SECONDS_MIN)

    async def run(self) -> None:
        """Writes what was recorded, one event at a time, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run())
            group.create_task(self._work())

    def _begin(self, occurrence: Occurrence) -> None:
        if len(self._queue) >= UNWRITTEN_MAX:
            self._dropped.inc()
            return
        self._series.pop(occurrence, None)
        if len(self._series) >= SERIES_MAX:
            del self._series[next(iter(self._series))]
        now = self._clock.now()
        self._series[occurrence] = Series(first_at=now, last_at=now)
        self._queue.add(occurrence)

    async def _work(self) -> None:
        while True:
            async with self._queue.next() as occurrence:
                series = self._series.get(occurrence)
                if series is not None:
                    await self._attempt(occurrence, series)

    async def _attempt(self, occurrence: Occurrence, series: Series) -> None:
        try:
            await self._write(occurrence, series)
            self._queue.forget(occurrence)
        except kube.Transient:
            if self._queue.retry(occurrence) >= ATTEMPTS_MAX:
                self._drop(occurrence, "the API server stays unavailable")
        except kube.KubeError as error:
            self._drop(occurrence, str(error))

    def _drop(self, occurrence: Occurrence, why: str) -> None:
        self._queue.forget(occurrence)
        self._series.pop(occurrence, None)
        self._dropped.inc()
        log.warning("event was not written", reason=occurrence.reason, error=why)

    async def _write(self, occurrence: Occurrence, series: Series) -> None:
        if not series.is_written:
            await self._create(occurrence, series)
            series.is_written = True
            return
        name = occurrences.event_name(occurrence, series)
        patch = {"series": occurrences.series_body(series)}
        await self._kube.patch(EVENTS, name, patch, namespace=occurrence.namespace)

    async def _create(self, occurrence: Occurrence, series: Series) -> None:
        body = occurrences.event_body(
            occurrence, series, controller=self._controller, instance=self._instance
        )
        try:
            await self._kube.create(EVENTS, body, namespace=occurrence.namespace)
        except kube.AlreadyExists:
            return  # an earlier attempt arrived, only its answer was lost
