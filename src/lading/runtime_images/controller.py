"""Collects unused images of a node that has no kubelet to do it, again and again.

Beside a real kubelet this is not run: there is only the explicit command `lading image gc`.
"""

from dataclasses import dataclass

import structlog

from lading.ports.clock import Clock
from lading.ports.cri import Cri, CriError
from lading.ports.disk import Disk
from lading.ports.state_file import StateFile
from lading.runtime_images import apply, observe
from lading.runtime_images import plan as planning
from lading.runtime_images.apply import Removal
from lading.runtime_images.metrics import ImageMetrics
from lading.runtime_images.types import Policy

log = structlog.get_logger(__name__)

PERIOD_SECONDS = 300.0  # the kubelet's


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    runtime: Cri
    disk: Disk
    document: StateFile
    clock: Clock
    policy: Policy
    metrics: ImageMetrics

    async def run(self) -> None:
        """Until cancelled; a look that fails is counted, and the next one comes in its time."""
        while True:
            try:
                await self.collect()
            except (CriError, OSError) as error:
                self.metrics.list_failures.inc()
                log.warning("images not looked at", error=str(error))
            await self.clock.sleep(PERIOD_SECONDS)

    async def collect(self) -> tuple[Removal, ...]:
        observed = await observe.observe(self.runtime, self.disk, self.document)
        self.metrics.count(observed.images)
        plan = planning.plan(observed, self.policy, self.clock.now())
        removals = apply.apply(plan, self.runtime, self.document)
        return tuple([removal async for removal in removals])
