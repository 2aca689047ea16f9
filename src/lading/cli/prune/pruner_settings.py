"""The options of the controller about the ImagePruner."""

import functools
from collections.abc import Callable
from typing import Any

import click

from lading.pruning.operator.types import PrunerSettings


def pruner_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `pruner`."""

    @click.option(
        "--pruner-image",
        metavar="IMAGE",
        default="",
        help="Lading's own image for pruning Jobs; default: that of the controller's pod.",
    )
    @click.option(
        "--pruner-take-over",
        is_flag=True,
        help="On OpenShift, manage its ImagePruner instead of only reporting about it.",
    )
    @functools.wraps(command)
    def with_settings(*args: Any, pruner_image: str, pruner_take_over: bool, **more: Any) -> Any:
        pruner = PrunerSettings(image=pruner_image, take_over=pruner_take_over)
        return command(*args, pruner=pruner, **more)

    return with_settings
