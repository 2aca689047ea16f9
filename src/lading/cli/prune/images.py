"""`lading prune images`: works like `oc adm prune images`. Without --confirm it only reads."""

import os
from pathlib import Path
from typing import Any

import click

from lading.cli import output
from lading.cli.options import LOG_LEVELS
from lading.cli.output import Format
from lading.cli.prune import blobs, options, plan, run_report, running, settings
from lading.cli.prune import output as prune_output
from lading.cli.prune.run_report import Reporting
from lading.observability import logs
from lading.observability.logs import LogFormat
from lading.pruning.engine import registry_url
from lading.pruning.engine.controller import ObservedPruning
from lading.pruning.engine.types import PrunePlan
from lading.pruning.operator import runs
from lading.pruning.operator.types import IMAGE_STREAMS
from lading.wiring import sweep
from lading.wiring.prune import PruneSession

_JOB = (
    click.option(
        "--ok-if-no-registry",
        is_flag=True,
        help="End with exit code 0 if there is no registry to prune, so that a Job does not fail.",
    ),
    click.option(
        "--report-to",
        type=click.Choice([run_report.IMAGE_PRUNER, run_report.CONFIG_MAP]),
        default=None,
        help="Report the run to the status of the ImagePruner, or to ConfigMap "
        "lading-image-pruner-report.",
    ),
    click.option(
        "--run-name",
        metavar="NAME",
        default=IMAGE_STREAMS,
        show_default=True,
        help="The name of the run in the report: that of a registry of the ImagePruner.",
    ),
)
_SWEEP = (
    click.option(
        "--sweep-blobs",
        is_flag=True,
        help="Then free the storage that no manifest needs, as `lading prune blobs` does; needs "
        "--storage and --registry-url.",
    ),
    options.grace,
    options.many(
        "--sweep-replica",
        "The address of a replica of the registry; default: --registry-url.",
        metavar="URL",
        callback=options.each(registry_url.parse),
    ),
)


@click.command(name="images", cls=options.FormerNames)
@options.confirm
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default=None,
    help="The log level; default: warnings only.",
)
@click.option(
    "--save-plan",
    "saved",
    type=options.NEW_FILE,
    envvar="LADING_PRUNE_SAVE_PLAN",
    default=None,
    help="Write the plan and what is kept to this file, for `lading dashboard --plan`.",
)
@output.form_option(default=Format.TABLE)
@options.with_options(*_JOB, *_SWEEP)
@options.prune_options
@options.with_options(*options.GUARDS)
def command(
    confirm: bool, log_level: str | None, saved: Path | None, form: Format, **given: Any
) -> None:
    """Delete images that are no longer needed; without --confirm only show the plan."""
    if log_level is not None:
        logs.configure(LogFormat.CONSOLE, log_level)
    pruned = settings.of_plan(given)
    swept = None
    if given["sweep_blobs"]:
        if not pruned.storage_url or pruned.url is None:
            raise click.UsageError("--sweep-blobs needs --storage and --registry-url")
        replicas = given["sweep_replica"] or (pruned.url,)
        swept = sweep.after_images(pruned, urls=replicas, grace=given["grace"])
    reporting = Reporting(
        to=given["report_to"] or "",
        name=given["run_name"],
        pod=os.environ.get("POD_NAME", ""),
        namespace=os.environ.get("POD_NAMESPACE", "default"),
    )
    if not confirm:
        click.echo(prune_output.DRY_RUN, err=True)
    if not pruned.reading.settings.prune_registry and form is Format.TABLE:
        click.echo(prune_output.ONLY_OBJECTS)

    async def work(session: PruneSession) -> None:
        if confirm:
            await _prune(session, reporting, form, saved)
        else:
            await _show(session, form, saved)
        if swept is not None and confirm:
            await blobs.sweep_after_images(swept, session, reporting, form)
        elif swept is not None:
            await blobs.preview(swept, form, None)

    running.run(pruned, work, ok_if_no_registry=given["ok_if_no_registry"])


async def _prune(
    session: PruneSession, reporting: Reporting, form: Format, saved: Path | None
) -> None:
    """Ends with exit code 1 if a deletion failed."""
    found = session.pruner.progress
    async with (
        running.with_progress(found),
        run_report.reported(session.kube, found, reporting) as run,
    ):
        result = await session.pruner.apply(planned=lambda *made: _save(saved, *made))
        run.figures = runs.pruned(found, result.outcomes)
        failures = (one for one in result.outcomes if one.is_failure)
        run.failure = next((f"{one.line}: {one.message}" for one in failures), "")
    prune_output.show_restored(result.restored)
    if form is Format.TABLE:
        prune_output.show_header(result.plan, is_confirmed=True)
    if not prune_output.show_outcomes(result.outcomes, form):
        raise click.exceptions.Exit(1)


async def _show(session: PruneSession, form: Format, saved: Path | None) -> None:
    pruner = session.pruner
    async with running.with_progress(pruner.progress):
        observed = await pruner.observe()
        made = pruner.plan(observed)
    prune_output.show_plan(made, form)
    for mention in observed.references.unknown:
        output.sentence(
            f"Warning: {mention.found_in}: {mention.text!r} is not a valid image reference; all"
            " repositories that it may name stay",
            err=True,
        )
    prune_output.show_refusals(pruner.refusals(made, observed))
    _save(saved, made, observed)
    click.echo(prune_output.DRY_RUN_ENDED, err=True)


def _save(file: Path | None, made: PrunePlan, observed: ObservedPruning) -> None:
    """Saving the plan is best effort."""
    if file is None:
        return
    try:
        plan.write(file, made, observed)
    except OSError as error:
        output.sentence(f"Warning: {file}: the plan was not saved: {error.strerror}", err=True)
