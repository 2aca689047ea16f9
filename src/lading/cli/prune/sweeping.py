"""The work of `lading prune blobs`; that of `lading prune images --sweep-blobs` shares it."""

from itertools import islice
from pathlib import Path

import click

from lading.cli import output, running
from lading.cli.exit_codes import RefusedByGuard
from lading.cli.output import Format
from lading.cli.prune import progress, sweep_report
from lading.cli.prune import reporting as reports
from lading.cli.prune.reporting import Reporting
from lading.kernel import texts
from lading.kernel.values import replace
from lading.pruning.engine.decisions.guards import GuardRefused
from lading.pruning.operator import runs
from lading.pruning.operator.types import SWEEP_SUFFIX
from lading.pruning.sweep.apply import FAILURES_SHOWN_MAX
from lading.pruning.sweep.controller import Sweeper, Swept
from lading.pruning.sweep.lock import SweepInProgress
from lading.pruning.sweep.probe import ProbeFailed
from lading.wiring import sweep as wiring
from lading.wiring.prune import Opened
from lading.wiring.sweep import SweepOptions

_REFUSALS = (GuardRefused, ProbeFailed, SweepInProgress)


def run(options: SweepOptions, form: Format, report: Path | None, *, is_confirmed: bool) -> None:
    if not is_confirmed:
        click.echo(sweep_report.DRY_RUN, err=True)

    async def work() -> None:
        async with wiring.open_sweeper(options) as sweeper:
            await (_sweep if is_confirmed else preview)(sweeper, form, report)

    try:
        running.run(work())
    except _REFUSALS as error:
        raise RefusedByGuard(texts.bounded_text(str(error), keep_lines=True)) from error


async def preview(sweeper: Sweeper, form: Format, report: Path | None) -> None:
    async with progress.shown(sweeper.progress):
        plan, observed, refusals = await sweeper.preview()
    listing = observed.facts.listing
    sweep_report.write(plan, listing, report)
    sweep_report.show_plan(plan, listing, form)
    for skipped in islice(listing.skipped(), FAILURES_SHOWN_MAX):
        output.sentence(f"Warning: {skipped}", err=True)
    for refusal in refusals:
        output.sentence(f"Warning: guard {refusal.guard}: {refusal.message}", err=True)


async def _sweep(sweeper: Sweeper, form: Format, report: Path | None) -> None:
    async with progress.shown(sweeper.progress):
        swept = await sweeper.run()
    show(swept, form, report)


def show(swept: Swept, form: Format, report: Path | None) -> None:
    """Ends with 1 where something failed."""
    sweep_report.write(swept.plan, swept.listing, report, answered=swept.counts.answered)
    sweep_report.show_swept(swept, form)
    if swept.counts.failed:
        raise click.exceptions.Exit(1)


async def preview_of(options: SweepOptions, form: Format) -> None:
    async with wiring.open_sweeper(options) as sweeper:
        await preview(sweeper, form, None)


async def sweep_after_images(
    options: SweepOptions, opened: Opened, reporting: Reporting, form: Format
) -> None:
    """Reports beside the run of the images, under a name of its own.

    Another sweep of the storage may hold its lock, or may have been cut off with it: then this run
    leaves the storage to the next one, because no run waits.
    """
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
    show(swept, form, None)
