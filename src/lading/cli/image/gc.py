"""`lading image gc`: garbage collection by hand, with the kubelet's policy and its defaults."""

from datetime import timedelta

import click

from lading.cli import options, running
from lading.cli.image import removals
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.output import Format
from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.runtime_images import observe
from lading.runtime_images import plan as planning
from lading.runtime_images.gc_types import GcPolicy
from lading.wiring import image_commands as wiring


@click.command(name="gc")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Remove every unused image, even with enough free space.",
)
@click.option(
    "--high",
    metavar="PERCENT",
    type=click.IntRange(0, 100),
    default=85,
    show_default=True,
    help="The disk usage in percent that starts the removal.",
)
@click.option(
    "--low",
    metavar="PERCENT",
    type=click.IntRange(0, 100),
    default=80,
    show_default=True,
    help="The disk usage in percent that ends the removal.",
)
@click.option(
    "--minimum-age",
    metavar="DURATION",
    callback=options.meaning(options.period),
    default="2m",
    show_default=True,
    help="Keep images that were first seen less than this time ago.",
)
@click.option(
    "--maximum-age",
    metavar="DURATION",
    callback=options.meaning(options.period),
    default=None,
    help="Also remove images that are unused for longer than this."
    " Run the command at least twice in this time.",
)
@removals.yes_option
@removals.form_option
@runtime_option
@with_node_options
def command(
    node: NodeOptions,
    everything: bool,
    high: int,
    low: int,
    minimum_age: timedelta,
    maximum_age: timedelta | None,
    yes: bool,
    form: Format,
    runtime: str | None,
) -> None:
    """Remove unused images as the kubelet does; without --yes only show the plan.

    The plan gives a reason for each image.
    """
    try:
        policy = GcPolicy(
            high_threshold_percent=high,
            low_threshold_percent=low,
            minimum_age=minimum_age,
            maximum_age=maximum_age,
            everything_unused=everything,
        )
    except Malformed as error:
        reason = f"--low must not be above --high: --low is {low}, --high is {high}"
        raise click.UsageError(reason) from error
    running.run(_collect(node, policy, runtime, form, yes=yes))


async def _collect(
    node: NodeOptions, policy: GcPolicy, runtime_class: str | None, form: Format, *, yes: bool
) -> None:
    if runtime_class is not None:
        policy = replace(policy, only_handler=await node.handler(runtime_class))
    async with node.runtime() as runtime:
        observed = await observe.observe(runtime, wiring.disk(), node.state)
        plan = planning.plan(observed, policy, wiring.clock().now())
        await removals.show(plan, form, node.runtime_classes)
        await removals.finish(plan, runtime, node.state, yes=yes)
