"""The options by which `lading prune images` sweeps the storage afterwards, and that sweep.

Another sweep of the storage may hold its lock, or may have been cut off with it: then this run
leaves the storage to the next one, because no run waits.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import click

from lading.cli import options as general
from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import blobs, progress
from lading.cli.prune import options as pruning
from lading.cli.prune import reporting as reports
from lading.cli.prune.reporting import Reporting
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.operator import runs
from lading.pruning.operator.types import SWEEP_SUFFIX
from lading.pruning.sweep.lock import SweepInProgress
from lading.wiring import sweep as wiring
from lading.wiring.prune import Opened, Options
from lading.wiring.sweep import SweepOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepAfter:
    grace: timedelta
    replicas: tuple[RegistryUrl, ...]

    def options(self, options: Options) -> SweepOptions:
        """The same registry, storage and limits as those of the images."""
        if not options.storage_url or options.url is None:
            raise click.UsageError("--sweep-blobs needs --storage and --registry-url")
        return wiring.after_images(options, urls=self.replicas or (options.url,), grace=self.grace)


def sweep_after_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `sweep`; None where nothing is swept."""

    @click.option(
        "--sweep-blobs",
        is_flag=True,
        help="Then free the storage that no manifest needs, as `lading prune blobs` does.",
    )
    @click.option(
        "--sweep-grace",
        callback=general.meaning(blobs.period),
        default="24h",
        show_default=True,
        help="The --grace of that sweep.",
    )
    @pruning.many(
        "--sweep-replica",
        "A replica of the registry; default: --registry-url.",
        callback=blobs.urls,
    )
    @functools.wraps(command)
    def with_sweep(
        *args: Any,
        sweep_blobs: bool,
        sweep_grace: timedelta,
        sweep_replica: tuple[RegistryUrl, ...],
        **more: Any,
    ) -> Any:
        sweep = SweepAfter(grace=sweep_grace, replicas=sweep_replica) if sweep_blobs else None
        return command(*args, sweep=sweep, **more)

    decorated: Callable[..., Any] = with_sweep
    return decorated


async def preview(options: SweepOptions, form: Format) -> None:
    async with wiring.open_sweeper(options) as sweeper:
        await blobs.preview(sweeper, form, None)


async def sweep(options: SweepOptions, opened: Opened, reporting: Reporting, form: Format) -> None:
    """Reports beside the run of the images, under a name of its own."""
    named = replace(reporting, name=f"{reporting.name}{SWEEP_SUFFIX}")
    async with (
        wiring.open_sweeper(options) as sweeper,
        progress.shown(sweeper.progress),
        reports.reported(opened.kube, sweeper.progress, named) as ended,
    ):
        try:
            swept = await sweeper.run()
        except SweepInProgress as error:
            ended.message = f"Nothing is swept by this run: {error}"
            output.sentence(ended.message, err=True)
            return
        ended.figures = runs.swept(swept)
        ended.failure = next(iter(swept.counts.failures), "")
    blobs.show(swept, form, None)
