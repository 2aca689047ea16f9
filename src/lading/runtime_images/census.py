"""Counts the images of a node by runtime handler, where somebody else collects them.

Beside a kubelet only looking is ours; the numbers say whether the feature is used at all.
"""

from dataclasses import dataclass

from lading.ports.clock import Clock
from lading.ports.cri import Cri, Transient
from lading.runtime_images.metrics import ImageMetrics

PERIOD_SECONDS = 300.0  # as often as the kubelet looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    runtime: Cri
    clock: Clock
    metrics: ImageMetrics

    async def run(self) -> None:
        """Until cancelled; a runtime that does not answer is asked again in the next period."""
        while True:
            try:
                self.metrics.count(await self.runtime.images())
            except Transient:
                self.metrics.looks_failed.inc()
            await self.clock.sleep(PERIOD_SECONDS)
