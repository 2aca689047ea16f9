"""`lading pin`: what sets of pinned images would cost, and how far the nodes are."""

import click

from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "plan": "Show what a set would pull and pin, before anything is applied.",
    "status": "Show nodes and sets, and how far each is.",
}


@click.group(name="pin", cls=LazyGroup, package="lading.cli.pin", commands=_COMMANDS)
def command() -> None:
    """Plan pinned image sets and watch how far the nodes are."""
