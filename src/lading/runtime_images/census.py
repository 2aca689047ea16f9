"""Counts the images of a node by runtime handler, where somebody else collects them.

Beside a kubelet only looking is ours; the numbers say whether the feature is used at all.
"""

from dataclasses import dataclass

import structlog

from lading.ports.clock import Clock
from lading.ports.cri import Cri, CriError
from lading.runtime_images.metrics import ImageMetrics

log = structlog.get_logger(__name__)

PERIOD_SECONDS = 300.0  # as often as the kubelet looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    runtime: Cri
    clock: Clock
    metrics: ImageMetrics

    async def run(self) -> None:
        """Until cancelled; a look that fails is counted, and the next one comes in its time."""
        while True:
            try:
                self.metrics.count(await self.runtime.images())
            except CriError as error:
                self.metrics.list_failures.inc()
                log.warning("images not looked at", error=error.message)
            await self.clock.sleep(PERIOD_SECONDS)
