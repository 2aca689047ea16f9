"""`lading bootimage`: the boot images of machine sets, their history, and the way back."""

import click

from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "status": "Show the machine sets and whether they boot the image of the release.",
    "plan": "Show what the controller would do, and change nothing.",
    "history": "Show the boot images that a machine set had.",
    "restore": "Give a machine set an earlier boot image, and pause its updates.",
    "resume": "Let the controller update a machine set again.",
    "adopt": "Let the controller change an image that another manager applied once.",
    "approve": "Confirm that the cluster runs a release, if no node can prove it.",
}


@click.group(name="bootimage", cls=LazyGroup, package="lading.cli.bootimage", commands=_COMMANDS)
def command() -> None:
    """Show, plan and restore the boot images of machine sets."""
