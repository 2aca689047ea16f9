"""Garbage collection of images on a node without a kubelet, and its preview.

On a node with a kubelet nothing is removed: images are counted, their ages are recorded, and the
plan shows what the kubelet would remove by its own configuration.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import assert_never

import structlog

from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.loop import pipeline
from lading.ports.clock import Clock
from lading.ports.cri import Cri, CriError
from lading.ports.node import Disk, Kubelet, KubeletLimits
from lading.runtime_images import apply, observe
from lading.runtime_images import plan as policies
from lading.runtime_images.apply import RemovalOutcome
from lading.runtime_images.gc_types import (
    GcPlan,
    GcPolicy,
    ObservedImages,
    RemoveImage,
    WriteImageRecords,
)
from lading.runtime_images.metrics import ImageMetrics
from lading.runtime_images.report import CollectionReport, collection_report
from lading.runtime_images.state import ImageStateFile

KEY = Key("", "images")
"""The only key: all images of the node."""
PREVIEW_KEPT = timedelta(seconds=5)
"""A preview inspects every image, so it is not made more often."""

log = structlog.get_logger(__name__)


Observation = tuple[ObservedImages, GcPolicy]


class GarbageCollection:
    name = "runtime-images-garbage-collection"

    def __init__(
        self,
        *,
        runtime: Cri,
        disk: Disk,
        state: ImageStateFile,
        clock: Clock,
        policy: GcPolicy | None,
        kubelet: Kubelet,
        metrics: ImageMetrics,
    ) -> None:
        """Without a policy only the kubelet removes images."""
        self._runtime = runtime
        self._disk = disk
        self._state = state
        self._clock = clock
        self._policy = policy
        self._kubelet = kubelet
        self._metrics = metrics
        self._preview: GcPlan | None = None
        self._previewing = asyncio.Lock()

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def preview(self) -> CollectionReport | None:
        """The verdicts of now; None if the runtime does not answer. Removes nothing."""
        async with self._previewing:
            now = self._clock.now()
            known = self._preview
            if known is None or not timedelta(0) <= now - known.planned_at < PREVIEW_KEPT:
                try:
                    self._preview = policies.plan(*await self.observe(KEY), now)
                except (CriError, OSError):
                    return None
            assert self._preview is not None
            return collection_report(self._preview)

    async def observe(self, key: Key) -> Observation:
        with _counted(self._metrics):
            observed = await observe.observe(self._runtime, self._disk, self._state)
        self._metrics.count(observed.images, observed.digest_pulls)
        policy = self._policy or policy_of(await self._kubelet.limits())
        return observed, policy

    def plan(self, observed: Observation, now: datetime) -> GcPlan:
        found = policies.plan(*observed, now)
        if self._policy is not None:
            return found
        kept = tuple(one for one in found.actions if not isinstance(one, RemoveImage))
        return replace(found, actions=kept)

    async def apply(self, action: RemoveImage | WriteImageRecords) -> None:
        match action:
            case RemoveImage():
                await self._remove(action)
            case WriteImageRecords(records=records):
                try:
                    await self._state.save_records(records)
                except OSError as error:
                    log.warning("image records not written", error=str(error))
            case _:
                assert_never(action)

    async def _remove(self, action: RemoveImage) -> None:
        now = self._clock.now()
        removal = await apply.remove_planned(action, self._runtime, self._state, now)
        if removal.outcome is RemovalOutcome.FAILED:
            self._metrics.removal_failures.inc()
            log.warning("image not removed", image=str(removal.image), error=removal.message)


def policy_of(limits: KubeletLimits) -> GcPolicy:
    high = limits.image_gc_high_threshold_percent
    return GcPolicy(
        high_threshold_percent=high,
        low_threshold_percent=min(limits.image_gc_low_threshold_percent, high),
        minimum_age=limits.image_minimum_gc_age,
        maximum_age=limits.image_maximum_gc_age,
    )


@contextmanager
def _counted(metrics: ImageMetrics) -> Iterator[None]:
    try:
        yield
    except (CriError, OSError):
        metrics.list_failures.inc()
        raise
