"""Writes the report of a pruning Job, every 30 seconds and at its end.

If a report cannot be written, the run continues.
"""

from typing import Any

import msgspec
import structlog

from lading.api.core import CONFIG_MAPS
from lading.api.imageregistry import IMAGE_PRUNERS, NAME, PruneRun, PruneRunPhase
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.operator import runs
from lading.pruning.operator.runs import RunFigures
from lading.pruning.operator.types import REPORT_NAME

INTERVAL_SECONDS = 30.0

log = structlog.get_logger(__name__)


class RunReport:
    def __init__(
        self,
        *,
        api: Kube,
        clock: Clock,
        progress: PruneProgress,
        name: str,
        pod: str,
        namespace: str,
        to_map: bool,
    ) -> None:
        """`to_map`: to the ConfigMap, not to the status of the ImagePruner."""
        self._api = api
        self._clock = clock
        self._progress = progress
        self._name = name
        self._job = runs.job_of(pod)
        self._namespace = namespace
        self._to_map = to_map
        self._started_at = clock.now()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.write(PruneRunPhase.RUNNING)
            await self._clock.sleep(INTERVAL_SECONDS)

    async def write(
        self, phase: PruneRunPhase, message: str = "", figures: RunFigures | None = None
    ) -> None:
        run = runs.run_of(
            self._progress,
            name=self._name,
            job=self._job,
            phase=phase,
            message=message,
            figures=figures or runs.pruned(self._progress),
            started_at=self._started_at,
            now=self._clock.now(),
        )
        await self._apply(run)

    async def _apply(self, run: PruneRun) -> None:
        resource: Any = CONFIG_MAPS if self._to_map else IMAGE_PRUNERS
        metadata = {"name": REPORT_NAME if self._to_map else NAME}
        body: dict[str, Any] = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
        }
        if self._to_map:
            metadata["namespace"] = self._namespace
            body["data"] = {self._name: msgspec.json.encode(run).decode()}
        else:
            body["status"] = {"lastRun": [msgspec.to_builtins(run)]}
        try:
            await self._api.apply(
                resource,
                body,
                field_manager=f"lading-prune-{self._name}",
                force=True,
                subresource="" if self._to_map else "status",
            )
        except kube.KubeError as error:
            log.warning("report was not written", error=str(error))
