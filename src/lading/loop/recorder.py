"""Writes events.k8s.io events: what happened to an object, for people.

Recording returns at once and never fails; writing is best effort, in the background. The same
record again within a few minutes raises the count of one event instead of making another.
Events contain no apparent secrets.
"""

import asyncio
import hashlib
import random
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
import structlog

from lading.api.core import EVENTS, ObjectReference
from lading.kernel import conditions, texts
from lading.kernel.objects import Object, Resource
from lading.kernel.planning import RecordEvent
from lading.loop.queue import WorkQueue
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube

NOTE_BYTES_MAX = 1024  # the API's limit
NAME_CHARACTERS_MAX = 236  # leaves room for the suffix in the API's limit of 253
CLUSTER_SCOPED_NAMESPACE = "default"  # where events about cluster-scoped objects live


class Severity(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two events the same."""

    regarding: ObjectReference
    severity: Severity
    reason: str
    action: str
    note: str

    @property
    def namespace(self) -> str:
        return self.regarding.namespace or CLUSTER_SCOPED_NAMESPACE


class Series(msgspec.Struct, kw_only=True):
    """How often a record was seen. This is the only mutable state."""

    first_at: datetime
    last_at: datetime
    count: int = 1
    is_written: bool = False


def reference(resource: Resource[Any], one: Object) -> ObjectReference:
    """The reference of an event to an object."""
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=one.metadata.namespace,
        name=one.metadata.name,
        uid=one.metadata.uid,
    )


def event_name(record: EventRecord, series: Series) -> str:
    """The same series always has the same name, so that a repeated create is harmless."""
    fact = f"{record!r} {series.first_at.isoformat()}"
    suffix = hashlib.sha256(fact.encode()).hexdigest()[:16]
    name = record.regarding.name[:NAME_CHARACTERS_MAX].rstrip("-.")
    return f"{name}.{suffix}"


def event_body(
    record: EventRecord, series: Series, *, controller: str, instance: str
) -> dict[str, Any]:
    body = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": event_name(record, series), "namespace": record.namespace},
        "eventTime": conditions.micro_timestamp(series.first_at),
        "reportingController": controller,
        "reportingInstance": instance,
        "type": str(record.severity),
        "reason": record.reason,
        "action": record.action,
        "note": record.note,
        "regarding": msgspec.to_builtins(record.regarding),
    }
    return body | ({"series": series_body(series)} if series.count > 1 else {})


def series_body(series: Series) -> dict[str, Any]:
    last = conditions.micro_timestamp(series.last_at)
    return {"count": series.count, "lastObservedTime": last}


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
        """Records an event. `action` is an UpperCamelCase word."""
        record = EventRecord(
            regarding=regarding,
            severity=severity,
            reason=reason.value,
            action=action,
            note=texts.bounded_text(note, bytes_max=NOTE_BYTES_MAX),
        )
        series = self._series.get(record)
        if series is None or self._clock.now() - series.last_at > SERIES_IDLE_MAX:
            self._begin(record)
        else:
            series.count += 1
            series.last_at = self._clock.now()
            self._queue.add_after(record, SERIES_WRITE_SECONDS_MIN)

    def record_planned(
        self, resource: Resource[Any], about: Object, event: RecordEvent, *, action: str
    ) -> None:
        """Records an event of a plan."""
        self.record(
            reference(resource, about),
            reason=event.reason,
            action=action,
            note=event.because,
            severity=Severity.WARNING if event.warning else Severity.NORMAL,
        )

    async def run(self) -> None:
        """Writes the recorded events one by one until cancelled."""
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
        name = event_name(record, series)
        patch = {"series": series_body(series)}
        await self._kube.patch(EVENTS, name, patch, namespace=record.namespace)

    async def _create(self, record: EventRecord, series: Series) -> None:
        body = event_body(record, series, controller=self._controller, instance=self._instance)
        try:
            await self._kube.create(EVENTS, body, namespace=record.namespace)
        except kube.AlreadyExists:
            return  # an earlier attempt arrived, only its answer was lost
