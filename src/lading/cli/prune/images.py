"""`lading prune images`: in the way of `oc adm prune images`, dry unless --confirm."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lading.cli import output
from lading.cli.options import LOG_LEVELS
from lading.cli.output import Format
from lading.cli.prune import progress, report, running, saved_plan
from lading.cli.prune import reporting as reports
from lading.cli.prune.option_groups import switch
from lading.cli.prune.options import prune_options
from lading.cli.prune.reporting import Reporting, reporting_options
from lading.cli.prune.sweep_after import SweepAfter, sweep_after_options
from lading.pruning.engine.types import PrunePlan

if TYPE_CHECKING:
    from lading.pruning.engine.controller import ObservedPruning
    from lading.wiring.prune import Opened, Options


@click.command(name="images")
@switch("--confirm", default=False, help="Delete; without it only the plan is shown.")
@click.option(
    "--allow-nothing", is_flag=True, help="End with exit code 0 when there is no registry to prune."
)
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default=None,
    help="The lowest level that is logged; default: warnings only.",
)
@click.option("--save-plan", "saved", type=click.Path(path_type=Path, dir_okay=False),
              envvar="LADING_PRUNE_SAVE_PLAN", default=None,
              help="Write the plan and what is kept to this file,"
              " for `lading dashboard --plan`.")  # fmt: skip
@output.form_option(default=Format.TABLE)
@reporting_options
@sweep_after_options
@prune_options
def command(
    options: "Options",
    reporting: Reporting,
    sweep: SweepAfter | None,
    confirm: bool,
    allow_nothing: bool,
    log_level: str | None,
    saved: Path | None,
    form: Format,
) -> None:
    """Delete images that are no longer needed; without --confirm only show the plan."""
    if log_level is not None:
        from lading.observability import logs  # slow to load, and --help needs none of it
        from lading.observability.log_format import LogFormat

        logs.configure(LogFormat.CONSOLE, log_level)
    if not confirm:
        click.echo(report.DRY_RUN, err=True)
    if not options.reading.settings.prune_registry and form is Format.TABLE:
        click.echo(report.ONLY_OBJECTS)

    from lading.cli.prune import sweeping  # slow to load, and --help needs none of it

    swept = sweep.options(options) if sweep is not None else None

    async def work(opened: "Opened") -> None:
        if confirm:
            await prune(opened, reporting, form, saved)
        else:
            save(saved, *await show(opened, form))
            click.echo(report.DRY_RUN_ENDED, err=True)
        if swept is not None and confirm:
            await sweeping.sweep_after_images(swept, opened, reporting, form)
        elif swept is not None:
            await sweeping.preview_of(swept, form)

    running.run(options, work, allow_nothing=allow_nothing)


async def prune(opened: "Opened", reporting: Reporting, form: Format, saved: Path | None) -> None:
    """Ends with 1 where something could not be deleted."""
    from lading.pruning.operator import runs  # slow to load, and --help needs none of it

    found = opened.pruner.progress
    async with progress.shown(found), reports.reported(opened.kube, found, reporting) as ended:
        applied = await opened.pruner.apply(planned=lambda *made: save(saved, *made))
        ended.figures = runs.pruned(found, applied.outcomes)
        failures = (one for one in applied.outcomes if one.is_failure)
        ended.failure = next((f"{one.line}: {one.message}" for one in failures), "")
    report.show_restored(applied.restored)
    if form is Format.TABLE:
        report.show_header(applied.plan, is_confirmed=True)
    if not report.show_outcomes(applied.outcomes, form):
        raise click.exceptions.Exit(1)


def save(file: Path | None, plan: PrunePlan, observed: "ObservedPruning") -> None:
    """A plan that cannot be saved costs only the file: the run continues."""
    if file is None:
        return
    try:
        saved_plan.write(file, plan, observed, contents=True)
    except OSError as error:
        output.sentence(f"Warning: {file}: the plan was not saved: {error.strerror}", err=True)


async def show(opened: "Opened", form: Format) -> tuple[PrunePlan, "ObservedPruning"]:
    pruner = opened.pruner
    async with progress.shown(pruner.progress):
        observed = await pruner.observe()
        plan = pruner.plan(observed)
    report.show_plan(plan, form)
    for mention in observed.references.unknown:
        output.sentence(
            f"Warning: {mention.found_in}: {mention.text!r} is not a valid image reference; all"
            " repositories that it may name stay",
            err=True,
        )
    for refusal in pruner.refusals(plan, observed):
        output.sentence(f"Warning: guard {refusal.guard}: {refusal.message}", err=True)
    return plan, observed
