"""`lading image inspect`: one image with everything that the runtime reports about it."""

from typing import Any

import click

from lading.cli import output, running
from lading.cli.image import crictl_form
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.output import Format
from lading.kernel.values import replace
from lading.ports.cri import Cri, ImageSpec
from lading.runtime_images import images as node_images
from lading.runtime_images.errors import NoSuchImage
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import local_id


@click.command(name="inspect")
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@output.form_option(default=Format.JSON, forms=(Format.JSON, Format.YAML))
@runtime_option
@with_node_options
def command(node: NodeOptions, images: tuple[str, ...], form: Format, runtime: str | None) -> None:
    """Show what the runtime knows about images: names, size, pin, handler, configuration."""
    running.run(_show(node, images, form, runtime))


async def _show(
    node: NodeOptions, images: tuple[str, ...], form: Format, runtime_class: str | None
) -> None:
    handler = await node.handler(runtime_class)
    found: list[dict[str, Any]] = []
    async with node.runtime() as runtime:
        for image in images:
            spec = ImageSpec(image=image, runtime_handler=handler)
            found.append(await _inspected(runtime, node.state, spec))
    value = found[0] if len(found) == 1 else found
    click.echo(output.document(value, form), nl=False)


async def _inspected(runtime: Cri, state: ImageStateFile, spec: ImageSpec) -> dict[str, Any]:
    image = await node_images.find(runtime, state, spec)
    if image is None:
        raise NoSuchImage(spec)
    by_id = local_id(image).spec
    # CRI-O finds an artifact by its names only.
    by_name = replace(by_id, image=node_images.display_name(image))
    inspection = await runtime.inspect(by_id) or await runtime.inspect(by_name)
    if inspection is None:
        raise NoSuchImage(spec)
    return crictl_form.inspection(inspection)
