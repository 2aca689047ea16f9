"""`lading prune apply`: deletes what a plan file says and what a fresh plan says as well."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lading import files
from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import progress, report, running
from lading.cli.prune.option_groups import FILE
from lading.cli.prune.options import prune_options
from lading.kernel.errors import Malformed
from lading.pruning.engine.decisions import plan_file
from lading.pruning.engine.types import Deletion, Header

if TYPE_CHECKING:
    from lading.pruning.engine.controller import Applied
    from lading.wiring.prune import Opened, Options


@click.command(name="apply")
@click.argument("file", type=FILE)
@output.form_option(default=Format.TABLE)
@prune_options
def command(options: "Options", file: Path, form: Format) -> None:
    """Delete what the plan in FILE names, if a new plan names it too."""
    with file.open("rb") as source:
        try:
            header, lines = plan_file.read(files.bounded_lines(source))
            chosen = (header, tuple(lines))
        except Malformed as error:
            raise click.BadParameter(f"{file}: {error.reason}", param_hint="FILE") from error

    async def work(opened: "Opened") -> None:
        async with progress.shown(opened.pruner.progress):
            applied = await opened.pruner.apply(chosen)
        report.show_restored(applied.restored)
        for sentence in _left_out(header, chosen[1], applied):
            output.sentence(sentence, err=True)
        if not report.show_outcomes(applied.outcomes, form):
            raise click.exceptions.Exit(1)

    running.run(options, work)


def _left_out(header: Header, lines: Sequence[Deletion], applied: "Applied") -> Iterator[str]:
    """How many lines of the file were not tried, by cause; a line that is there twice is one."""
    chosen = {line.identity for line in lines}
    fresh = {line.identity for line in applied.plan.deletions}
    tried = {one.line.identity for one in applied.outcomes}
    if absent := len(chosen - fresh):
        yield (
            f"Deletions that are left out, because a new plan does not have them: {absent}"
            f"{_other_settings(header, applied.plan.header)}"
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
