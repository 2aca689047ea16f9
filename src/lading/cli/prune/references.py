"""`lading prune references`: what a cluster uses, as a file for a run that cannot reach it."""

from pathlib import Path

import click

from lading.cli import connection, running
from lading.cli.connection import Target
from lading.cli.prune.option_groups import custom_path_option
from lading.pruning.engine.references.custom_paths import READY_MADE, CustomPath


@click.command(name="references")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False),
              required=True, help="The file to write.")  # fmt: skip
@custom_path_option
@connection.target_options
def command(target: Target, file: Path, custom_path: tuple[CustomPath, ...]) -> None:
    """Write the image references of a cluster into a file, for --references of another run."""
    running.run(_write(target, file, (*READY_MADE, *custom_path)))


async def _write(target: Target, file: Path, custom: tuple[CustomPath, ...]) -> None:
    from lading.wiring import prune as wiring  # slow to load, and --help needs none of it

    async with target.open() as client:
        address = target.found().server
        found = await wiring.write_references(client, file, address=address, custom=custom)
    click.echo(f"Wrote {len(found.mentions)} references of cluster {found.cluster} to {file}")
