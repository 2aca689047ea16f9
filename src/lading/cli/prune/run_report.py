"""The report of a run to its ImagePruner, while it runs and when it ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from lading.api.imageregistry import PruneRunPhase
from lading.cli import error_messages
from lading.cli.prune.running import REFUSALS
from lading.loop import tasks
from lading.ports.kube import Kube
from lading.ports.registry import Unauthorized
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.operator.run_report import RunReport
from lading.pruning.operator.runs import RunFigures
from lading.pruning.operator.types import IMAGE_STREAMS
from lading.wiring.clock import system_clock

IMAGE_PRUNER, CONFIG_MAP = "imagepruner", "configmap"


class Reporting(msgspec.Struct, frozen=True, kw_only=True):
    to: str = ""
    """Empty: no report."""
    name: str = IMAGE_STREAMS
    pod: str = ""
    namespace: str = ""


class RunResult(msgspec.Struct):
    """How a run ended."""

    figures: RunFigures | None = None
    failure: str = ""
    """The first deletion that failed; empty if the run succeeded."""
    message: str = ""


@asynccontextmanager
async def reported(
    api: Kube | None, progress: PruneProgress, reporting: Reporting
) -> AsyncIterator[RunResult]:
    """Reports while the block runs, and how it ended."""
    result = RunResult()
    if not reporting.to or api is None:
        yield result
        return
    report = RunReport(
        api=api,
        clock=system_clock(),
        progress=progress,
        name=reporting.name,
        pod=reporting.pod,
        namespace=reporting.namespace,
        to_map=reporting.to == CONFIG_MAP,
    )
    try:
        async with tasks.started(report.run()):
            yield result
    except REFUSALS as error:
        await report.write(PruneRunPhase.REFUSED, str(error))
        raise
    except Exception as error:
        await report.write(PruneRunPhase.FAILED, _failure(error, reporting))
        raise
    phase = PruneRunPhase.FAILED if result.failure else PruneRunPhase.SUCCEEDED
    await report.write(phase, result.failure or result.message, result.figures)


def _failure(error: Exception, reporting: Reporting) -> str:
    """Names the field of the ImagePruner, because its reader has no command line to correct."""
    if isinstance(error, Unauthorized) and reporting.name != IMAGE_STREAMS:
        return (
            f"{error}; set credentialsSecretName of spec.registries[{reporting.name}] to a Secret"
            " with a login for it"
        )
    return error_messages.message(error) or repr(error)
