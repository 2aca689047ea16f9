"""`lading crds`: the manifests of the kinds that Lading owns, as YAML."""

import click

from lading.api import manifests
from lading.wiring.features import DEFINITIONS


@click.command(name="crds")
def command() -> None:
    """Print the CustomResourceDefinitions, ready for `kubectl apply --server-side -f -`."""
    documents = [manifests.as_yaml(definition) for definition in DEFINITIONS]
    click.echo("---\n".join(documents), nl=False)
