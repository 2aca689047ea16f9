"""`lading prune references`: writes what a cluster uses, for a run that cannot reach it."""

from pathlib import Path

import click

from lading.cli import running
from lading.cli.connection import Target
from lading.cli.prune import options
from lading.pruning.engine.references.custom_paths import READY_MADE, CustomPath
from lading.wiring import prune as wiring


@click.command(name="references")
@click.option(
    "-o", "--output", "file", type=options.NEW_FILE, required=True, help="The file to write."
)
@options.custom_path
@options.with_options(*options.ONE_CLUSTER)
def command(
    file: Path, custom_path: tuple[CustomPath, ...], kubeconfig: Path | None, context: str
) -> None:
    """Write the image references of a cluster into a file, for --references of another run."""
    target = Target(kubeconfig=kubeconfig, context=context, namespace="")
    running.run(_write(target, file, (*READY_MADE, *custom_path)))


async def _write(target: Target, file: Path, custom: tuple[CustomPath, ...]) -> None:
    async with target.open() as client:
        address = target.found().server
        found = await wiring.write_references(client, file, address=address, custom=custom)
    click.echo(f"Wrote {len(found.mentions)} references of cluster {found.cluster} to {file}")
