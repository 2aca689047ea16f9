"""`lading prune apply`: deletes what a plan file says and what a fresh plan says as well."""

from pathlib import Path

import click

from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import progress, report, running
from lading.cli.prune.options import FILE, prune_options
from lading.kernel.errors import Malformed
from lading.pruning.engine import plan_file
from lading.wiring.prune import Opened, Options


@click.command(name="apply")
@click.argument("file", type=FILE)
@output.form_option(default=Format.TABLE)
@prune_options
def command(options: Options, file: Path, form: Format) -> None:
    """Delete what the plan in FILE says, as far as a fresh plan says it, too."""
    with file.open("rb") as source:
        try:
            header, lines = plan_file.read(source)
            chosen = (header, tuple(lines))
        except Malformed as error:
            raise click.UsageError(str(error)) from error

    async def work(opened: Opened) -> None:
        async with progress.shown(opened.pruner.progress):
            applied = await opened.pruner.apply(chosen)
        left = len(chosen[1]) - len(applied.outcomes)
        if left > 0:
            click.echo(f"{left} lines of the plan are no longer right and are left out", err=True)
        if not report.show_outcomes(applied.outcomes, form):
            raise click.exceptions.Exit(1)

    running.run(options, work)
