"""`lading crds`: the manifests of the kinds that Lading owns, as YAML, or onto a cluster."""

import click

from lading.api import manifests
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.wiring.clock import system_clock


@click.command(name="crds")
@click.option(
    "--apply",
    "is_applied",
    is_flag=True,
    help="Install or upgrade them on the cluster. A kind of another owner is not changed.",
)
@connection.target_options
def command(target: Target, is_applied: bool) -> None:
    """Print the CustomResourceDefinitions, ready for `kubectl apply --server-side -f -`."""
    from lading.wiring.features import DEFINITIONS  # slow to load, and --help needs none of it

    if is_applied:
        running.run(_apply(target))
    else:
        documents = [manifests.as_yaml(definition) for definition in DEFINITIONS]
        click.echo("---\n".join(documents), nl=False)


async def _apply(target: Target) -> None:
    from lading.installation import apply as installation
    from lading.wiring.features import DEFINITIONS

    async with target.open() as kube:
        found = await installation.install(kube, system_clock(), DEFINITIONS)
    for name, outcome in found.outcomes.items():
        click.echo(f"{name}: {outcome}")
    for sentence in found.foreign:
        output.sentence(f"Warning: {sentence}", err=True)
