"""`lading prune trash`: what was deleted and can still be restored."""

from typing import TYPE_CHECKING

import click
import msgspec

from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import running
from lading.cli.prune.options import prune_options
from lading.pruning.engine.trash.trash import Record

if TYPE_CHECKING:
    from lading.wiring.prune import Opened, Options

_REPOSITORY_CHARACTERS_MAX = 20
_TAGS_CHARACTERS_MAX = 10  # at 80 columns the name is whole: `restore` takes it


@click.command(name="trash")
@output.form_option(default=Format.TABLE)
@prune_options
def command(options: "Options", form: Format) -> None:
    """List the images in the trash, and when they expire."""

    async def work(opened: "Opened") -> None:
        records = [record for _, record in await opened.pruner.records()]
        if form is not Format.TABLE:
            rows = [{"name": one.name, **msgspec.to_builtins(one)} for one in records]
            click.echo(output.document(rows, form), nl=False)
        elif not records:
            click.echo("The trash is empty")
        else:
            headers = ("NAME", "REPOSITORY", "TAGS", "UNTIL")
            click.echo(output.table(headers, map(_cells, records)), nl=False)

    running.run(options, work)


def _cells(record: Record) -> tuple[str, ...]:
    tags = ",".join(record.tags) or "-"
    return (
        record.name,
        _cut(record.repository, _REPOSITORY_CHARACTERS_MAX),
        _cut(tags, _TAGS_CHARACTERS_MAX),
        f"{record.expires_at:%m-%d %H:%M}",
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
