"""The settings of a node's preloading as options: the agent, a plan and a host have the same ones.

A plan that assumed other gates or another factor than the agent would promise something else.
"""

import click

from lading.pinned_images.node.types import PinSettings

DEFAULTS = PinSettings()

expansion_factor_option = click.option(
    "--expansion-factor",
    type=click.FloatRange(1, 10),
    default=DEFAULTS.expansion_factor,
    show_default=True,
    help="Bytes on disk per byte pulled.",
)
parallel_pulls_option = click.option(
    "--max-parallel-image-pulls",
    type=click.IntRange(1, 100),
    default=DEFAULTS.parallel_pulls_max,
    show_default=True,
    help="The most pulls at a time; at most 2 on a control plane node.",
)
