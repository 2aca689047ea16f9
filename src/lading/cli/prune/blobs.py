"""`lading prune blobs`: frees storage that no manifest needs. Without --confirm it only reads.

`lading prune images --sweep-blobs` does the same after the images.
"""

from itertools import islice
from pathlib import Path
from typing import Any

import click

from lading.cli import output, running
from lading.cli.options import Removed, with_former_options
from lading.cli.output import Format
from lading.cli.prune import options, run_report, settings
from lading.cli.prune import output as prune_output
from lading.cli.prune.run_report import Reporting
from lading.cli.prune.running import REFUSALS, refused, with_progress
from lading.kernel.values import replace
from lading.pruning.engine import registry_url
from lading.pruning.operator import runs
from lading.pruning.operator.types import SWEEP_SUFFIX
from lading.pruning.sweep.apply import FAILURES_SHOWN_MAX
from lading.pruning.sweep.controller import SweepResult
from lading.pruning.sweep.lock import SweepInProgress
from lading.pruning.sweep.probe import PROBE_REPOSITORY
from lading.wiring import sweep as wiring
from lading.wiring.prune import PruneSession
from lading.wiring.sweep import SweepOptions


def _in_a_folder(_context: object, _option: object, given: Path | None) -> Path | None:
    """The file is written last, so its folder is checked before anything is deleted."""
    if given is not None and not given.absolute().parent.is_dir():
        raise click.BadParameter(f"{given}: there is no such folder")
    return given


_SWEEP = (
    click.option(
        "--storage",
        metavar="URL",
        required=True,
        help="The storage of the registry: file:///FOLDER, s3://BUCKET/PREFIX,"
        " gs://BUCKET, az://CONTAINER.",
    ),
    options.many(
        "--registry-url",
        "The address of a replica of the registry. Name every replica. --confirm needs it, or "
        "--offline.",
        metavar="URL",
        callback=options.each(registry_url.parse),
    ),
    options.certificate_authority,
    options.force_insecure,
    options.registry_name,
    options.switch(
        "--offline",
        default=False,
        help="The registry is stopped or read-only: delete everything in one pass.",
    ),
    options.switch(
        "--untagged",
        default=False,
        help="Keep only what tags, referrers and the references of clusters reach.",
    ),
    options.switch(
        "--cluster-images",
        default=False,
        help="Also keep what Image objects of the clusters (OpenShift) name.",
    ),
    options.grace,
    options.period(
        "--second-look-after",
        default="30s",
        help="How long to wait for requests in progress before the second check.",
    ),
    click.option(
        "--state-dir",
        metavar="FOLDER",
        type=options.FOLDER,
        default=None,
        help="The folder for the list of condemned blobs; default: in the storage.",
    ),
)


_FormerOptions = with_former_options(
    renamed={"--report": "--save-plan"},
    removed={
        "--probe-repository": Removed(
            f"the probe image is always in {PROBE_REPOSITORY}", has_value=True
        )
    },
)


@click.command(name="blobs", cls=_FormerOptions)
@options.confirm
@click.option(
    "--save-plan",
    "saved",
    type=options.NEW_FILE,
    default=None,
    callback=_in_a_folder,
    help="Write the reason of every blob to this file, one JSON document per line.",
)
@output.form_option(default=Format.TABLE)
@options.with_options(*_SWEEP, *options.CLUSTERS, *options.GUARDS)
def command(confirm: bool, saved: Path | None, form: Format, **given: Any) -> None:
    """Free the storage that no manifest needs; without --confirm only show the plan.

    The first run condemns blobs that no manifest needs. A run after the time of --grace deletes
    them if still no manifest needs them.
    """
    swept = settings.of_sweep(given)
    if confirm and not swept.urls and not swept.settings.is_offline:
        raise click.UsageError(
            "name every replica of the registry with --registry-url; if it is stopped or read-only,"
            " use --offline"
        )
    if not confirm:
        click.echo(prune_output.SWEEP_DRY_RUN, err=True)
    work = _sweep if confirm else preview
    try:
        running.run(work(swept, form, saved))
    except (*REFUSALS, SweepInProgress) as error:
        raise refused(error) from error


async def preview(swept: SweepOptions, form: Format, saved: Path | None) -> None:
    async with wiring.open_sweeper(swept) as sweeper:
        async with with_progress(sweeper.progress):
            plan, observed, refusals = await sweeper.preview()
        listing = observed.facts.listing
        prune_output.write_reasons(plan, listing, saved)
        prune_output.show_sweep_plan(plan, listing, form)
        for skipped in islice(listing.skipped(), FAILURES_SHOWN_MAX):
            output.sentence(f"Warning: {skipped}", err=True)
        prune_output.show_refusals(refusals)


async def _sweep(swept: SweepOptions, form: Format, saved: Path | None) -> None:
    async with wiring.open_sweeper(swept) as sweeper:
        async with with_progress(sweeper.progress):
            result = await sweeper.run()
        show(result, form, saved)


def show(result: SweepResult, form: Format, saved: Path | None) -> None:
    """Ends with exit code 1 if something failed."""
    answered = result.counts.answered
    prune_output.write_reasons(result.plan, result.listing, saved, answered=answered)
    prune_output.show_sweep(result, form)
    if result.counts.failed:
        raise click.exceptions.Exit(1)


async def sweep_after_images(
    swept: SweepOptions, session: PruneSession, reporting: Reporting, form: Format
) -> None:
    """Reports under its own name, beside the run of the images.

    No run waits for the lock of another sweep, because that may have been killed. The next run
    sweeps.
    """
    named = replace(reporting, name=f"{reporting.name}{SWEEP_SUFFIX}")
    async with (
        wiring.open_sweeper(swept) as sweeper,
        with_progress(sweeper.progress),
        run_report.reported(session.kube, sweeper.progress, named) as run,
    ):
        try:
            result = await sweeper.run()
        except SweepInProgress as error:
            run.message = f"Nothing is swept by this run: {error}"
            output.sentence(run.message, err=True)
            return
        run.figures = runs.swept(result)
        run.failure = next(iter(result.counts.failures), "")
    show(result, form, None)
