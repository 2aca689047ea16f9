"""Image garbage collection on a node that has no kubelet to do it, and the count of images.

Beside a real kubelet images are only counted: there `lading image gc` removes them, by hand.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

import structlog

from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.ports.clock import Clock
from lading.ports.cri import Cri, CriError, Image
from lading.ports.disk import Disk
from lading.runtime_images import apply, observe
from lading.runtime_images import plan as policies
from lading.runtime_images.apply import RemovalOutcome
from lading.runtime_images.metrics import ImageMetrics
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import (
    GcPlan,
    GcPolicy,
    ImageRecords,
    ObservedImages,
    RemoveImage,
    WriteImageRecords,
)

KEY = Key("", "images")
"""There is one key: all images of the node."""

log = structlog.get_logger(__name__)


class GarbageCollection:
    name = "runtime-images-garbage-collection"

    def __init__(
        self,
        *,
        runtime: Cri,
        disk: Disk,
        state: ImageStateFile,
        clock: Clock,
        policy: GcPolicy,
        metrics: ImageMetrics,
    ) -> None:
        self._runtime = runtime
        self._disk = disk
        self._state = state
        self._clock = clock
        self._policy = policy
        self._metrics = metrics
        self._unsaved: ImageRecords | None = None

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> ObservedImages:
        with _counted(self._metrics):
            observed = await observe.observe(self._runtime, self._disk, self._state)
        self._metrics.count(observed.images, observed.digest_pulls)
        return replace(observed, records=self._unsaved or observed.records)

    def plan(self, observed: ObservedImages, now: datetime) -> GcPlan:
        return policies.plan(observed, self._policy, now)

    async def apply(self, action: RemoveImage | WriteImageRecords) -> None:
        match action:
            case RemoveImage():
                await self._remove(action)
            case WriteImageRecords(records=records):
                await self._write(records)
            case _:
                assert_never(action)

    async def _remove(self, action: RemoveImage) -> None:
        now = self._clock.now()
        removal = await apply.remove_planned(action, self._runtime, self._state, now)
        if removal.outcome is RemovalOutcome.FAILED:
            self._metrics.removal_failures.inc()
            log.warning("image not removed", image=str(removal.image), error=removal.message)

    async def _write(self, records: ImageRecords) -> None:
        """On a full disk the records stay in memory: otherwise every image would look young."""
        self._unsaved = records
        try:
            await self._state.save_records(records)
        except OSError as error:
            log.warning("image records not written", error=str(error))
        else:
            self._unsaved = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCount:
    """Only observes: the numbers show whether images are kept by runtime handler at all."""

    runtime: Cri
    state: ImageStateFile
    clock: Clock
    metrics: ImageMetrics
    period: timedelta = GcPolicy().period
    name: str = "runtime-images-count"

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self.clock)

    async def observe(self, key: Key) -> tuple[Image, ...]:
        with _counted(self.metrics):
            images = await self.runtime.images()
            digest_pulls = (await self.state.load()).digest_pulls
        self.metrics.count(images, digest_pulls)
        return images

    def plan(self, observed: tuple[Image, ...], now: datetime) -> Plan:
        return Plan(recheck_at=now + self.period)

    async def apply(self, action: object) -> None:
        raise AssertionError("a count plans no action")


@contextmanager
def _counted(metrics: ImageMetrics) -> Iterator[None]:
    try:
        yield
    except (CriError, OSError):
        metrics.list_failures.inc()
        raise
