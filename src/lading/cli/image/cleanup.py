"""`lading image cleanup`: what turning the feature gate off, or on again, asks of a node."""

import click

from lading.cli import running
from lading.cli.image import removals
from lading.cli.image.settings import Settings, with_settings
from lading.cli.output import Format
from lading.runtime_images import cleanup, observe
from lading.wiring import image_commands as wiring


@click.command(name="cleanup")
@removals.yes_option
@removals.form_option
@with_settings
def command(settings: Settings, yes: bool, form: Format) -> None:
    """Remove the images that were pulled for runtime classes.

    Needed after the feature gate RuntimeClassInImageCriApi was turned off, and before it is turned
    on again: without it such an image could be taken for the host's. Images that containers still
    use stay, with the containers to restart named.
    """
    running.run(_clean_up(settings, form, yes=yes))


async def _clean_up(settings: Settings, form: Format, *, yes: bool) -> None:
    document = settings.document
    async with settings.whole_runtime() as runtime:
        observed = await observe.observe(runtime, wiring.disk(), document)
        plan = cleanup.plan(observed, wiring.clock().now())
        await removals.show(plan, form, settings.runtime_classes)
        await removals.finish(plan, runtime, document, yes=yes)
