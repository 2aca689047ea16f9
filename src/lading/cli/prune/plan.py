"""`lading prune plan`: writes what would go into a file, for review and for `apply`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lading.cli import output
from lading.cli.prune import progress, report, running, saved_plan
from lading.cli.prune.options import prune_options

if TYPE_CHECKING:
    from lading.wiring.prune import Opened, Options


@click.command(name="plan")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False),
              required=True, help="The file to write, one deletion per line.")  # fmt: skip
@click.option("--contents", is_flag=True, help="Also write what is kept and why, for the"
              " dashboard; the file is then as large as the registry's manifests.")  # fmt: skip
@prune_options
def command(options: "Options", file: Path, contents: bool) -> None:
    """Write the plan into a file; you may remove lines from it before `lading prune apply`."""

    async def work(opened: "Opened") -> None:
        async with progress.shown(opened.pruner.progress):
            observed = await opened.pruner.observe()
            plan = opened.pruner.plan(observed)
        saved_plan.write(file, plan, observed, contents=contents)
        report.show_header(plan)
        output.sentence(
            f"Wrote {len(plan.deletions)} deletions to {file}. Nothing is deleted yet: to delete,"
            f" run `lading prune apply {file}` with the same options"
        )
        for refusal in opened.pruner.refusals(plan, observed):
            output.sentence(f"Warning: guard {refusal.guard}: {refusal.message}", err=True)

    running.run(options, work)
