"""`lading image cleanup`: removes images of runtime classes when the feature gate changes."""

import click

from lading.cli import output, running
from lading.cli.image import gc
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.output import Format
from lading.runtime_images import cleanup, observe
from lading.runtime_images.gc_types import GcPlan, GcReason
from lading.wiring import machine


@click.command(name="cleanup", cls=gc.FormerNames)
@gc.removal_options
@with_node_options
def command(node: NodeOptions, confirm: bool, form: Format) -> None:
    """Remove the images that were pulled for runtime classes.

    Run it after the feature gate RuntimeClassInImageCriApi was turned off, and before it is turned
    on again: while the gate is off, a pod of the host could use such an image. Images that
    containers use stay; the output names these containers. Restart them and run it again.
    """
    running.run(_clean_up(node, form, confirm=confirm))


async def _clean_up(node: NodeOptions, form: Format, *, confirm: bool) -> None:
    async with node.whole_runtime() as runtime:
        observed = await observe.observe(runtime, machine.disk(), node.state)
        plan = cleanup.plan(observed, machine.clock().now())
        await gc.show(plan, form, node.runtime_classes)
        _hint(plan)
        await gc.finish(plan, runtime, node.state, confirm=confirm)


def _hint(plan: GcPlan) -> None:
    in_use = sum(verdict.reason is GcReason.IN_USE for verdict in plan.verdicts)
    if in_use:
        images = "1 image is" if in_use == 1 else f"{in_use} images are"
        text = "restart the containers that the plan names, then run the command again"
        output.sentence(f"Note: {images} still in use; {text}", err=True)
