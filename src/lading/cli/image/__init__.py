"""`lading image`: the images of one container runtime, by runtime class."""

import click

from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "pull": "Pull an image, for the host or for a runtime class.",
    "ls": "List the images and the runtime class of each.",
    "rm": "Remove images, for the host or for a runtime class.",
    "gc": "Remove unused images; without --confirm only show the plan.",
    "cleanup": "Remove the images of runtime classes after the feature gate was turned off.",
}


@click.group(name="image", cls=LazyGroup, package="lading.cli.image", commands=_COMMANDS)
def command() -> None:
    """Pull, list and remove the images of a container runtime, by runtime class.

    The runtime is found as crictl finds it: --runtime-endpoint, CONTAINER_RUNTIME_ENDPOINT,
    /etc/crictl.yaml, then the usual sockets.
    """
