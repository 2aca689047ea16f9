"""`lading pin`: creates and plans PinnedImageSets, and shows the progress of nodes."""

import click

from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "create": "Write a PinnedImageSet with digests, from images, manifests, pods or a release.",
    "diff": "Show what an edit of sets would add and free.",
    "plan": "Show what a set would pull and pin, before anything is applied.",
    "status": "Show the progress of each set on each node.",
    "wait": "Wait until sets are pinned on all their nodes.",
}


@click.group(name="pin", cls=LazyGroup, package="lading.cli.pin", commands=_COMMANDS)
def command() -> None:
    """Create and plan PinnedImageSets, and watch the nodes pin them."""
