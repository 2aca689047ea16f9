"""`lading prepull`: the images that every worker node holds."""

import click

from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "status": "Show which worker nodes hold each Image.",
}


@click.group(name="prepull", cls=LazyGroup, package="lading.cli.prepull", commands=_COMMANDS)
def command() -> None:
    """Show the images that every worker node holds."""
