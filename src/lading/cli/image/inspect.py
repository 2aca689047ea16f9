"""`lading image inspect`: one image with everything that the runtime tells about it."""

from dataclasses import replace
from typing import Any

import click

from lading.cli import output, running
from lading.cli.image import crictl_form
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.image.settings import Settings, with_settings
from lading.cli.output import Format
from lading.ports.cri import Cri, ImageSpec
from lading.ports.state_file import StateFile
from lading.runtime_images import lookup, names
from lading.runtime_images.errors import NoSuchImage
from lading.runtime_images.types import key_of


@click.command(name="inspect")
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@output.form_option(default=Format.JSON, forms=(Format.JSON, Format.YAML))
@runtime_option
@with_settings
def command(settings: Settings, images: tuple[str, ...], form: Format, runtime: str | None) -> None:
    """Show what the runtime knows about images: names, size, pin, handler, configuration."""
    running.run(_show(settings, images, form, runtime))


async def _show(
    settings: Settings, images: tuple[str, ...], form: Format, runtime_class: str | None
) -> None:
    handler = await settings.handler(runtime_class)
    found: list[dict[str, Any]] = []
    async with settings.runtime() as runtime:
        for image in images:
            spec = ImageSpec(image=image, runtime_handler=handler)
            found.append(await _inspected(runtime, settings.document, spec))
    value = found[0] if len(found) == 1 else found
    click.echo(output.document(value, form), nl=False)


async def _inspected(runtime: Cri, document: StateFile, spec: ImageSpec) -> dict[str, Any]:
    image = await lookup.find(runtime, document, spec)
    if image is None:
        raise NoSuchImage(spec)
    by_id = key_of(image).spec
    # CRI-O finds an artifact by its names only.
    by_name = replace(by_id, image=names.display_name(image))
    inspection = await runtime.inspect(by_id) or await runtime.inspect(by_name)
    if inspection is None:
        raise NoSuchImage(spec)
    return crictl_form.inspection(inspection)
