"""`lading prune trash` and `lading prune restore`: the images that were deleted."""

from typing import Any

import click
import msgspec

from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import options, running, settings
from lading.pruning.engine.trash.trash import Record
from lading.wiring.prune import PruneSession

_REPOSITORY_CHARACTERS_MAX = 20
_TAGS_CHARACTERS_MAX = 10  # then the name fits 80 columns whole: `restore` takes it
_trash_options = options.with_options(
    *options.ONE_CLUSTER, *options.REGISTRY, options.trash_repository
)


@click.command(name="trash")
@output.form_option(default=Format.TABLE)
@_trash_options
def command(form: Format, **given: Any) -> None:
    """List the images in the trash, and when they expire."""

    async def work(session: PruneSession) -> None:
        records = [record for _, record in await session.pruner.records()]
        if form is not Format.TABLE:
            rows = [{"name": one.name, **msgspec.to_builtins(one)} for one in records]
            click.echo(output.document(rows, form), nl=False)
        elif not records:
            click.echo("The trash is empty")
        else:
            headers = ("NAME", "REPOSITORY", "TAGS", "UNTIL")
            click.echo(output.table(headers, map(_cells, records)), nl=False)

    running.run(settings.of_trash(given), work)


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


@click.command(name="restore")
@click.argument("names", nargs=-1, required=True)
@_trash_options
@options.state_dir
def restore_command(names: tuple[str, ...], **given: Any) -> None:
    """Restore images: NAMES of `lading prune trash`, REPOSITORY:TAG, or digests.

    A tag that names another image by now is not moved.
    """

    async def work(session: PruneSession) -> None:
        records = await session.pruner.records()
        for name in names:
            own = name.removeprefix(f"{session.registry}/")
            meant = [(place, one) for place, one in records if _is_meant(one, own)]
            if not meant:
                raise click.ClickException(
                    f"{name} is not in the trash; `lading prune trash` lists the images in it"
                )
            place, record = max(meant, key=lambda found: found[1].deleted_at)
            taken = await session.pruner.restore(place, record)
            click.echo(f"Restored {record.repository}: {', '.join(record.tags) or record.group}")
            for tag in taken:
                click.echo(f"Tag {tag} names another image now and is not changed", err=True)

    running.run(settings.of_trash(given), work)


def _is_meant(record: Record, name: str) -> bool:
    tags = {f"{record.repository}:{tag}" for tag in record.tags}
    return name == record.name or name in tags or record.uses(name)
