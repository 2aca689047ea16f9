"""`lading image inspect`: one image with everything that the runtime tells about it."""

from typing import Any

import click

from lading.cli import output
from lading.cli.image import documents, sentences
from lading.cli.image.settings import Settings, runtime_option, with_settings
from lading.cli.output import Format
from lading.ports.cri import ImageSpec


@click.command(name="inspect")
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@output.form_option(default=Format.JSON, forms=(Format.JSON, Format.YAML))
@runtime_option
@with_settings
def command(settings: Settings, images: tuple[str, ...], form: Format, runtime: str | None) -> None:
    """Show what the runtime knows about images: names, size, pin, handler, configuration."""
    sentences.run(_show(settings, images, form, runtime))


async def _show(
    settings: Settings, images: tuple[str, ...], form: Format, runtime_class: str | None
) -> None:
    handler = await settings.handler(runtime_class)
    found: list[dict[str, Any]] = []
    async with settings.runtime() as runtime:
        for image in images:
            inspection = await runtime.inspect(ImageSpec(image=image, runtime_handler=handler))
            if inspection is None:
                raise click.ClickException(f"no such image {image!r}; `lading image ls` lists them")
            found.append(documents.inspection(inspection))
    value = found[0] if len(found) == 1 else found
    click.echo(output.document(value, form), nl=False)
