"""`lading prune restore`: puts images of the trash back; a tag that exists is never moved."""

from typing import TYPE_CHECKING

import click

from lading.cli.prune import running
from lading.cli.prune.options import prune_options
from lading.pruning.engine.trash.trash import Record

if TYPE_CHECKING:
    from lading.wiring.prune import Opened, Options


@click.command(name="restore")
@click.argument("names", nargs=-1, required=True)
@prune_options
def command(options: "Options", names: tuple[str, ...]) -> None:
    """Restore images: NAMES of `lading prune trash`, REPOSITORY:TAG, or digests."""

    async def work(opened: "Opened") -> None:
        records = await opened.pruner.records()
        for name in names:
            own = name.removeprefix(f"{opened.registry}/")
            meant = [(place, one) for place, one in records if _is_meant(one, own)]
            if not meant:
                raise click.ClickException(
                    f"{name} is not in the trash; `lading prune trash` lists the images in it"
                )
            place, record = max(meant, key=lambda found: found[1].deleted_at)
            taken = await opened.pruner.restore(place, record)
            click.echo(f"Restored {record.repository}: {', '.join(record.tags) or record.group}")
            for tag in taken:
                click.echo(f"Tag {tag} names another image now and is not changed", err=True)

    running.run(options, work)


def _is_meant(record: Record, name: str) -> bool:
    tags = {f"{record.repository}:{tag}" for tag in record.tags}
    return name == record.name or name in tags or record.uses(name)
