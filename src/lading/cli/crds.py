"""`lading crds`: prints or installs the CustomResourceDefinitions of Lading."""

import click

from lading.api import definitions
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.installation import apply as installation
from lading.wiring.clock import system_clock
from lading.wiring.features import DEFINITIONS


@click.command(name="crds")
@click.option(
    "--apply",
    "is_applied",
    is_flag=True,
    help="Install or upgrade them on the cluster. A kind of another owner is not changed.",
)
@connection.target_options
def command(target: Target, is_applied: bool) -> None:
    """Print the CustomResourceDefinitions, ready for `kubectl apply --server-side -f -`.

    A kind that another project installs too is not printed: `--apply` looks for its owner first.
    """
    if is_applied:
        running.run(_apply(target))
    else:
        documents = [definitions.as_yaml(one) for one in DEFINITIONS if not one.shared_with]
        click.echo("---\n".join(documents), nl=False)


async def _apply(target: Target) -> None:
    async with target.open() as kube:
        found = await installation.install(kube, system_clock(), DEFINITIONS)
    for name, outcome in found.outcomes.items():
        click.echo(f"{name}: {outcome}")
    for sentence in found.foreign:
        output.sentence(f"Warning: {sentence}", err=True)
