"""The settings of a node's preloading as options: the agent, a plan and a host have the same ones.

A plan that assumed other gates or another factor than the agent would promise something else.
"""

import click

from lading.cli import options
from lading.kernel import durations
from lading.kernel.objects import Key
from lading.pinned_images.node.types import PinSettings

DEFAULTS = PinSettings()

expansion_factor_option = click.option(
    "--expansion-factor",
    metavar="FACTOR",
    type=click.FloatRange(1, 10),
    default=DEFAULTS.expansion_factor,
    show_default=True,
    help="Bytes on disk per byte pulled.",
)
parallel_pulls_option = click.option(
    "--max-parallel-image-pulls",
    metavar="COUNT",
    type=click.IntRange(1, 100),
    default=DEFAULTS.parallel_pulls_max,
    show_default=True,
    help="The most pulls at a time; at most 2 on a control plane node.",
)
behind_cache_option = click.option(
    "--behind-cache",
    is_flag=True,
    help="Pull a layer that several images share from the same repository on every node. "
    "For nodes that use a pull-through cache.",
)
require_disk_check_option = click.option(
    "--require-disk-check",
    is_flag=True,
    help="Pull nothing while the free space, or the size of an image, is not known.",
)
progress_timeout_option = click.option(
    "--pull-progress-timeout",
    "pull_progress_timeout",
    metavar="DURATION",
    callback=options.meaning(options.positive_period),
    default=durations.format_duration(DEFAULTS.pull_progress_timeout),
    show_default=True,
    help="Cancel a pull, and retry it later, when no bytes arrive for this long.",
)


def _secret_key(text: str) -> Key:
    namespace, _, name = text.partition("/")
    if not (namespace and name) or "/" in name:
        raise click.BadParameter(f"{text!r} does not have the form NAMESPACE/NAME")
    return Key(namespace, name)


pull_secret_option = click.option(
    "--pull-secret",
    "secrets",
    multiple=True,
    metavar="NAMESPACE/NAME",
    callback=lambda _context, _option, texts: tuple(_secret_key(text) for text in texts),
    help="A Secret of the cluster with credentials for the registries; may be repeated.",
)
