"""Writes events.k8s.io events: what happened to an object, for people.

Recording returns at once and never fails; writing is best effort, in the background. The same
record again within a few minutes raises the count of one event instead of making another.
Nothing that looks like a secret gets in.
"""

import asyncio
import random
from datetime import timedelta
from enum import StrEnum

import structlog

from lading.api.events import EVENTS, ObjectReference
from lading.kernel import texts
from lading.loop import event_series
from lading.loop.event_series import EventRecord, Series, Severity
from lading.loop.queue import WorkQueue
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


class EventRecorder:
    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        controller: str,
        instance: str,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._controller = controller
        self._instance = instance
        self._dropped = metrics.events_dropped
        self._series: dict[EventRecord, Series] = {}
        self._queue: WorkQueue[EventRecord] = WorkQueue(clock, rng)

    def record(
        self,
        regarding: ObjectReference,
        *,
        reason: StrEnum,
        action: str,
        note: str,
        severity: Severity = Severity.NORMAL,
    ) -> None:
        """Notes that it happened; reasons are documented, `action` is an UpperCamelCase word."""
        record = EventRecord(
            regarding=regarding,
            severity=severity,
            reason=reason.value,
            action=action,
            note=texts.bounded_text(note, bytes_max=event_series.NOTE_BYTES_MAX),
        )
        series = self._series.get(record)
        if series is None or self._clock.now() - series.last_at > SERIES_IDLE_MAX:
            self._begin(record)
        else:
            series.count += 1
            series.last_at = self._clock.now()
            self._queue.add_after(record, SERIES_WRITE_SECONDS_MIN)

    async def run(self) -> None:
        """Writes what was recorded, one event at a time, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run())
            group.create_task(self._work())

    def _begin(self, record: EventRecord) -> None:
        if len(self._queue) >= UNWRITTEN_MAX:
            self._dropped.inc()
            return
        self._series.pop(record, None)
        if len(self._series) >= SERIES_MAX:
            del self._series[next(iter(self._series))]
        now = self._clock.now()
        self._series[record] = Series(first_at=now, last_at=now)
        self._queue.add(record)

    async def _work(self) -> None:
        while True:
            async with self._queue.next() as record:
                series = self._series.get(record)
                if series is not None:
                    await self._attempt(record, series)

    async def _attempt(self, record: EventRecord, series: Series) -> None:
        try:
            await self._write(record, series)
            self._queue.forget(record)
        except kube.Transient:
            if self._queue.retry(record) >= ATTEMPTS_MAX:
                self._drop(record, "the API server stays unavailable")
        except kube.KubeError as error:
            self._drop(record, str(error))
        except Exception as error:  # noqa: BLE001 - an event is not worth the process
            self._drop(record, f"{type(error).__name__}: {error}", trace=error)

    def _drop(self, record: EventRecord, why: str, *, trace: Exception | None = None) -> None:
        self._queue.forget(record)
        self._series.pop(record, None)
        self._dropped.inc()
        log.warning("event was not written", reason=record.reason, error=why, exc_info=trace)

    async def _write(self, record: EventRecord, series: Series) -> None:
        if not series.is_written:
            await self._create(record, series)
            series.is_written = True
            return
        name = event_series.event_name(record, series)
        patch = {"series": event_series.series_body(series)}
        await self._kube.patch(EVENTS, name, patch, namespace=record.namespace)

    async def _create(self, record: EventRecord, series: Series) -> None:
        body = event_series.event_body(
            record, series, controller=self._controller, instance=self._instance
        )
        try:
            await self._kube.create(EVENTS, body, namespace=record.namespace)
        except kube.AlreadyExists:
            return  # an earlier attempt arrived, only its answer was lost
