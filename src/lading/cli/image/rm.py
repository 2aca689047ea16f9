"""`lading image rm`: removes images by name or ID, for one runtime class each time."""

import click

from lading.cli.image import sentences
from lading.cli.image.settings import Settings, runtime_option, with_settings
from lading.ports.cri import Cri, CriError, Image, ImageSpec


@click.command(name="rm")
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@runtime_option
@with_settings
def command(settings: Settings, images: tuple[str, ...], runtime: str | None) -> None:
    """Remove images with all their names; the same image of another runtime class stays."""
    sentences.run(_remove_all(settings, images, runtime))


async def _remove_all(
    settings: Settings, images: tuple[str, ...], runtime_class: str | None
) -> None:
    handler = await settings.handler(runtime_class)
    failures = 0
    async with settings.runtime() as runtime:
        for name in images:
            spec = ImageSpec(image=name, runtime_handler=handler)
            try:
                _report(await _removed(runtime, spec), name)
            except (CriError, click.ClickException) as error:
                failures += 1
                click.echo(f"Error: {error}", err=True)
    if failures:
        raise click.exceptions.Exit(1)


async def _removed(runtime: Cri, spec: ImageSpec) -> Image:
    found = await runtime.image(spec)
    if found is None:
        raise click.ClickException(f"no such image {spec.image!r}; `lading image ls` lists them")
    # By its ID: some runtimes only take one name away when they are given a name.
    await runtime.remove(ImageSpec(image=found.id, runtime_handler=spec.runtime_handler))
    return found


def _report(image: Image, asked: str) -> None:
    names = image.repo_tags or image.repo_digests or (image.id,)
    if len(names) > 1:
        click.echo(f"{asked} had {len(names)} names, and all are gone", err=True)
    for name in names:
        click.echo(f"Deleted: {name}")
