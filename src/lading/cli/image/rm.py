"""`lading image rm`: removes images by name or ID, for one runtime class each time."""

from collections.abc import Collection
from dataclasses import dataclass

import click

from lading.cli import running, sentences
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.image.settings import Settings, with_settings
from lading.ports.cri import Cri, CriError, Image, ImageSpec
from lading.ports.state_file import StateFile
from lading.runtime_images import apply, gate, listing, lookup, names, state, whose
from lading.runtime_images.errors import NoSuchImage
from lading.runtime_images.types import Resolution, key_of
from lading.wiring import image_commands as wiring


class Needed(Exception):
    """The image may not be removed now; says who needs it."""


class NotRemoved(Exception):
    """The runtime said nothing against it, and still has the image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    runtime: Cri
    document: StateFile
    handler: str
    resolutions: Collection[Resolution]
    """Empty with the feature gate off: then images are the host's, and nobody else's."""

    async def names(self) -> list[str]:
        """A name of every image that is here for the handler."""
        images = listing.merged(await self.runtime.images())
        for_whom = whose.whose(images, self.resolutions)
        return [
            names.display_name(image)
            for image in images
            if self.handler in for_whom[key_of(image)].handlers
        ]

    def others(self, image: Image) -> list[str]:
        """For whom else the image is here, so that it would go for them too."""
        (for_whom,) = whose.whose([image], self.resolutions).values()
        others = sorted(for_whom.handlers - {self.handler})
        return [f"runtime handler {handler}" if handler else "the host" for handler in others]


@click.command(name="rm")
@click.argument("images", nargs=-1, metavar="[IMAGE...]")
@click.option("-a", "--all", "everything", is_flag=True, help="Every image.")
@click.option("-q", "--prune", "unneeded", is_flag=True, help="Every image that nobody needs.")
@click.option("--force", is_flag=True, help="Also what is pinned or in use.")
@runtime_option
@with_settings
def command(
    settings: Settings,
    images: tuple[str, ...],
    everything: bool,
    unneeded: bool,
    force: bool,
    runtime: str | None,
) -> None:
    """Remove images with all their names; the same image of another runtime class stays."""
    if (bool(images), everything, unneeded).count(True) != 1:
        raise click.UsageError("expected names of images, or --all, or --prune")
    if unneeded and force:
        raise click.UsageError("--prune keeps what somebody needs; with --force, say --all")
    running.run(_remove_all(settings, images, runtime, force=force, unneeded=unneeded))


async def _remove_all(
    settings: Settings,
    images: tuple[str, ...],
    runtime_class: str | None,
    *,
    force: bool,
    unneeded: bool,
) -> None:
    handler = await settings.handler(runtime_class)
    known = await state.load(settings.document)
    failures = 0
    async with settings.runtime() as runtime:
        node = Node(
            runtime=runtime,
            document=settings.document,
            handler=handler,
            resolutions=known.resolutions if gate.is_on(settings.gates) else (),
        )
        for name in images or await node.names():
            try:
                _report(await _removed(node, name, force=force), name)
            except (CriError, NoSuchImage, Needed, NotRemoved) as error:
                is_kept = unneeded and isinstance(error, Needed)
                failures += not is_kept
                word = "Kept" if is_kept else "Error"
                click.echo(f"{word}: {sentences.sentence(error)}", err=True)
    if failures:
        raise click.exceptions.Exit(1)


async def _removed(node: Node, name: str, *, force: bool) -> Image:
    spec = ImageSpec(image=name, runtime_handler=node.handler)
    found = await lookup.find(node.runtime, node.document, spec)
    if found is None:
        raise NoSuchImage(spec)
    if not force:
        await _require_unneeded(node, found, name)
    if not await apply.remove(key_of(found), node.runtime):
        raise NotRemoved(f"the runtime was asked to remove {name}, and still lists it")
    await state.forget_resolutions(node.document, names.names_of(found))
    return found


async def _require_unneeded(node: Node, image: Image, name: str) -> None:
    if others := node.others(image):
        whom = " and ".join(others)
        raise Needed(f"{name} is needed: it is here for {whom}; --force removes it for all")
    reason = await apply.reason_to_keep(key_of(image), node.runtime, wiring.clock().now())
    if reason is not None:
        raise Needed(f"{name} is needed: {reason}; --force removes it anyway")


def _report(image: Image, asked: str) -> None:
    gone = image.repo_tags or image.repo_digests or (image.id,)
    if len(gone) > 1:
        click.echo(f"{asked} had {len(gone)} names, and all are gone", err=True)
    for name in gone:
        click.echo(f"Deleted: {name}")
