"""`lading image rm`: removes images by name or ID, for one runtime class each time."""

from collections.abc import Collection

import click
import msgspec

from lading.cli import error_messages, output, running
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.runtime_classes import runtime_option
from lading.ports.cri import Cri, CriError, Image, ImageSpec
from lading.runtime_images import apply, handlers
from lading.runtime_images import images as node_images
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import DigestPull, NoSuchImage, local_id
from lading.wiring import machine


class Needed(Exception):
    """Something needs the image; the message names it."""

    def __init__(self, message: str, *, step: str) -> None:
        super().__init__(message)
        self.step = step
        """The option that removes it anyway."""


class NotRemoved(Exception):
    """The runtime reported no error, but still lists the image."""


class ImagesOfHandler(msgspec.Struct, frozen=True, kw_only=True):
    runtime: Cri
    state: ImageStateFile
    handler: str
    digest_pulls: Collection[DigestPull]
    """Empty with the feature gate off, when every image is for the host."""

    async def names(self) -> list[str]:
        """A name of every image that is here for the handler."""
        images = node_images.merged(await self.runtime.images())
        used = node_images.handlers_of(images, self.digest_pulls)
        return [
            node_images.display_name(image)
            for image in images
            if self.handler in used[local_id(image)].all
        ]

    def others(self, image: Image) -> list[str]:
        """The other handlers that use the image and would lose it."""
        (used,) = node_images.handlers_of([image], self.digest_pulls).values()
        others = sorted(used.all - {self.handler})
        return [f"runtime handler {handler}" if handler else "the host" for handler in others]


@click.command(name="rm")
@click.argument("images", nargs=-1, metavar="[IMAGE...]")
@click.option("-a", "--all", "everything", is_flag=True, help="Remove every unused image.")
@click.option(
    "--force", is_flag=True, help="Also remove images that are pinned, in use, or of other classes."
)
@runtime_option
@with_node_options
def command(
    node: NodeOptions,
    images: tuple[str, ...],
    everything: bool,
    force: bool,
    runtime: str | None,
) -> None:
    """Remove images with all their names; the same image of another runtime class stays."""
    if bool(images) == everything:
        raise click.UsageError("write the names of images, or use --all")
    running.run(_remove_all(node, images, runtime, force=force))


async def _remove_all(
    node: NodeOptions,
    images: tuple[str, ...],
    runtime_class: str | None,
    *,
    force: bool,
) -> None:
    handler = await node.handler(runtime_class)
    known = await node.state.load()
    failures = 0
    async with node.runtime() as runtime:
        found = ImagesOfHandler(
            runtime=runtime,
            state=node.state,
            handler=handler,
            digest_pulls=known.digest_pulls if handlers.gate_is_on(node.gates) else (),
        )
        for name in images or await found.names():
            try:
                _report(await _removed(found, name, force=force), name)
            except (CriError, NoSuchImage, Needed, NotRemoved) as error:
                is_kept = not images and isinstance(error, Needed)  # --all
                failures += not is_kept
                outcome = "Kept" if is_kept else "Error"
                step = f"; {error.step}" if isinstance(error, Needed) and not is_kept else ""
                output.sentence(f"{outcome}: {error_messages.message(error)}{step}", err=True)
    if failures:
        raise click.exceptions.Exit(1)


async def _removed(images: ImagesOfHandler, name: str, *, force: bool) -> Image:
    spec = ImageSpec(image=name, runtime_handler=images.handler)
    found = await node_images.find(images.runtime, images.state, spec)
    if found is None:
        raise NoSuchImage(spec)
    if not force:
        await _require_unneeded(images, found, name)
    if not await apply.remove(local_id(found), images.runtime):
        raise NotRemoved(f"the runtime was asked to remove {name}, and still lists it")
    await images.state.forget_digest_pulls(node_images.names_of(found))
    return found


async def _require_unneeded(images: ImagesOfHandler, image: Image, name: str) -> None:
    if others := images.others(image):
        users = " and ".join(others)
        raise Needed(f"{name} is needed: it is here for {users}", step="--force removes it for all")
    reason = await apply.reason_to_keep(local_id(image), images.runtime, machine.clock().now())
    if reason is not None:
        raise Needed(f"{name} is needed: {reason}", step="--force removes it anyway")


def _report(image: Image, asked: str) -> None:
    gone = image.repo_tags or image.repo_digests or (image.id,)
    if len(gone) > 1:
        click.echo(f"{asked} had {len(gone)} names; all are removed", err=True)
    for name in gone:
        output.sentence(f"Deleted: {name}")
