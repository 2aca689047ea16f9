"""`lading prune plan` writes a plan into a file; `lading prune apply` deletes what it names."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from lading import files
from lading.cli import output
from lading.cli.options import Removed, with_former_options
from lading.cli.output import Format
from lading.cli.prune import options, running, settings
from lading.cli.prune import output as prune_output
from lading.kernel.errors import Malformed
from lading.pruning.engine.controller import ObservedPruning, PruneResult
from lading.pruning.engine.decisions import plan_contents, plan_file
from lading.pruning.engine.types import Deletion, Header, PrunePlan
from lading.wiring.prune import PruneSession

_REMOVED = {
    **options.REMOVED,
    "--contents": Removed("`lading prune images --save-plan FILE` writes what is kept"),
}


@click.command(name="plan", cls=with_former_options(renamed=options.RENAMED, removed=_REMOVED))
@click.option(
    "-o",
    "--output",
    "file",
    type=options.NEW_FILE,
    required=True,
    help="The file to write, one deletion per line.",
)
@options.prune_options
def command(file: Path, **given: Any) -> None:
    """Write the plan into a file; you may remove lines from it before `lading prune apply`."""

    async def work(session: PruneSession) -> None:
        async with running.with_progress(session.pruner.progress):
            observed = await session.pruner.observe()
            plan = session.pruner.plan(observed)
        write(file, plan)
        prune_output.show_header(plan)
        output.sentence(
            f"Wrote {len(plan.deletions)} deletions to {file}. Nothing is deleted yet: to delete,"
            f" run `lading prune apply {file}` with the same options"
        )
        prune_output.show_refusals(session.pruner.refusals(plan, observed))

    running.run(settings.of_plan(given), work)


def write(file: Path, plan: PrunePlan, observed: ObservedPruning | None = None) -> None:
    """With what was observed, the file also has what is kept, and why.

    Replaces the file in one step, because a dashboard may read it at any time.
    """
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with partial.open("wb") as target:
            target.writelines(plan_file.lines(plan))
            if observed is not None:
                inventory, references = observed.inventory, observed.references
                target.writelines(plan_contents.lines(plan, inventory, references))
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


@click.command(name="apply", cls=options.FormerNames)
@click.argument("file", type=options.FILE)
@output.form_option(default=Format.TABLE)
@options.prune_options
@options.with_options(*options.GUARDS)
def apply_command(file: Path, form: Format, **given: Any) -> None:
    """Delete what the plan in FILE names, if a new plan names it too."""
    with file.open("rb") as source:
        try:
            header, lines = plan_file.read(files.bounded_lines(source))
            chosen = (header, tuple(lines))
        except Malformed as error:
            raise click.BadParameter(f"{file}: {error.reason}", param_hint="FILE") from error

    async def work(session: PruneSession) -> None:
        async with running.with_progress(session.pruner.progress):
            result = await session.pruner.apply(chosen)
        prune_output.show_restored(result.restored)
        for sentence in _left_out(header, chosen[1], result):
            output.sentence(sentence, err=True)
        if not prune_output.show_outcomes(result.outcomes, form):
            raise click.exceptions.Exit(1)
        if chosen[1] and not result.outcomes:
            raise click.ClickException(
                f"no deletion of {file} applies any more, so nothing is deleted; make a new plan"
                " with `lading prune plan`"
            )

    running.run(settings.of_plan(given), work)


def _left_out(header: Header, lines: Sequence[Deletion], result: PruneResult) -> Iterator[str]:
    """How many lines of the file were not tried, and why. Repeated lines count once."""
    chosen = {line.identity for line in lines}
    fresh = {line.identity for line in result.plan.deletions}
    tried = {one.line.identity for one in result.outcomes}
    if absent := len(chosen - fresh):
        yield (
            f"Deletions that are left out, because a new plan does not have them: {absent}"
            f"{_other_settings(header, result.plan.header)}"
        )
    if held := len((chosen & fresh) - tried):
        yield (
            "Deletions that are left out, because they belong to images of which the file does not"
            f" have every line: {held}"
        )


def _other_settings(old: Header, new: Header) -> str:
    """Other settings are the most likely cause."""
    differ = [name for name in new.settings if old.settings.get(name) != new.settings[name]]
    if not differ:
        return ""
    before = ", ".join(f"{name} {old.settings.get(name)}" for name in differ)
    now = ", ".join(f"{name} {new.settings[name]}" for name in differ)
    return f"; the file was made with {before}, and this run has {now}"
