"""The options by which a Job of an ImagePruner reports about its run, and the report."""

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from lading.api.imageregistry import PruneRunPhase
from lading.cli import sentences
from lading.loop import tasks
from lading.ports.kube import Kube
from lading.ports.registry import Unauthorized
from lading.pruning.engine.decisions.guards import GuardRefused
from lading.pruning.engine.effects.canary import CanaryFailed
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.operator.types import IMAGE_STREAMS
from lading.wiring.clock import system_clock

if TYPE_CHECKING:
    from lading.pruning.operator.runs import RunFigures

IMAGE_PRUNER, CONFIG_MAP = "imagepruner", "configmap"


class Reporting(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run reports; nowhere when `to` is empty."""

    to: str = ""
    name: str = IMAGE_STREAMS
    pod: str = ""
    namespace: str = ""


class Ended(msgspec.Struct):
    """How the run ended, for its report."""

    figures: "RunFigures | None" = None
    failure: str = ""
    """What could not be deleted; empty for a run that succeeded."""
    message: str = ""


def reporting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `reporting`."""

    @click.option(
        "--report-to",
        type=click.Choice([IMAGE_PRUNER, CONFIG_MAP]),
        default=None,
        help="Report the run to the status of the ImagePruner, or to ConfigMap "
        "lading-image-pruner-report.",
    )
    @click.option(
        "--report-as",
        metavar="NAME",
        default=IMAGE_STREAMS,
        show_default=True,
        help="The name of the run in the report.",
    )
    @click.option(
        "--pod-name", metavar="NAME", envvar="POD_NAME", default="", help="The pod of the run."
    )
    @click.option(
        "--pod-namespace",
        metavar="NAME",
        envvar="POD_NAMESPACE",
        default="default",
        help="The namespace of that pod.",
    )
    @functools.wraps(command)
    def with_reporting(
        *args: Any,
        report_to: str | None,
        report_as: str,
        pod_name: str,
        pod_namespace: str,
        **more: Any,
    ) -> Any:
        reporting = Reporting(
            to=report_to or "", name=report_as, pod=pod_name, namespace=pod_namespace
        )
        return command(*args, reporting=reporting, **more)

    return with_reporting


@asynccontextmanager
async def reported(
    api: Kube | None, progress: PruneProgress, reporting: Reporting
) -> AsyncIterator[Ended]:
    """Reports while the block runs, and how it ended."""
    # Slow to load, and no --help needs any of it.
    from lading.pruning.operator.run_report import RunReport
    from lading.pruning.sweep.probe import ProbeFailed

    ended = Ended()
    if not reporting.to or api is None:
        yield ended
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
            yield ended
    except (GuardRefused, CanaryFailed, ProbeFailed) as error:
        await report.write(PruneRunPhase.REFUSED, str(error))
        raise
    except Exception as error:
        await report.write(PruneRunPhase.FAILED, _failure(error, reporting))
        raise
    phase = PruneRunPhase.FAILED if ended.failure else PruneRunPhase.SUCCEEDED
    await report.write(phase, ended.failure or ended.message, ended.figures)


def _failure(error: Exception, reporting: Reporting) -> str:
    """The next step for a person who reads it in the ImagePruner, and not in a terminal."""
    if isinstance(error, Unauthorized) and reporting.name != IMAGE_STREAMS:
        return (
            f"{error}; set credentialsSecretName of spec.registries[{reporting.name}] to a Secret"
            " with a login for it"
        )
    return sentences.sentence(error) or repr(error)
