"""`lading image rm`: removes images by name or ID, for one runtime class each time."""

import click

from lading.cli import running, sentences
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.image.settings import Settings, with_settings
from lading.ports.cri import Cri, CriError, Image, ImageSpec
from lading.ports.document import Document
from lading.runtime_images import apply, lookup
from lading.runtime_images.errors import NoSuchImage
from lading.runtime_images.types import key_of
from lading.wiring import image_commands as wiring


class Needed(Exception):
    """The image may not be removed now; says who needs it."""


@click.command(name="rm")
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@click.option("--force", is_flag=True, help="Also what is pinned or in use.")
@runtime_option
@with_settings
def command(settings: Settings, images: tuple[str, ...], force: bool, runtime: str | None) -> None:
    """Remove images with all their names; the same image of another runtime class stays."""
    running.run(_remove_all(settings, images, runtime, force=force))


async def _remove_all(
    settings: Settings, images: tuple[str, ...], runtime_class: str | None, *, force: bool
) -> None:
    handler = await settings.handler(runtime_class)
    failures = 0
    async with settings.runtime() as runtime:
        for name in images:
            spec = ImageSpec(image=name, runtime_handler=handler)
            try:
                _report(await _removed(runtime, settings.document, spec, force=force), name)
            except (CriError, NoSuchImage, Needed) as error:
                failures += 1
                click.echo(f"Error: {sentences.sentence(error)}", err=True)
    if failures:
        raise click.exceptions.Exit(1)


async def _removed(runtime: Cri, document: Document, spec: ImageSpec, *, force: bool) -> Image:
    found = await lookup.find(runtime, document, spec)
    if found is None:
        raise NoSuchImage(spec)
    # By its ID: some runtimes only take one name away when they are given a name.
    key = key_of(found)
    reason = None if force else await apply.reason_to_keep(key, runtime, wiring.clock().now())
    if reason is not None:
        raise Needed(f"{spec.image} is needed: {reason}; --force removes it anyway")
    await runtime.remove(key.spec)
    return found


def _report(image: Image, asked: str) -> None:
    names = image.repo_tags or image.repo_digests or (image.id,)
    if len(names) > 1:
        click.echo(f"{asked} had {len(names)} names, and all are gone", err=True)
    for name in names:
        click.echo(f"Deleted: {name}")
