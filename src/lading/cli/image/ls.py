"""`lading image ls`: the images, one line for each tag, with the runtime class of each."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from lading.cli import output, running
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.output import Format, ListFormat
from lading.kernel import quantities
from lading.ports.cri import Image
from lading.runtime_images import images as node_images
from lading.runtime_images.types import ImageHandlers, LocalImageId, local_id

_NONE = "<none>"
_SHORT_ID_CHARACTERS = 13
_HEADERS = ("IMAGE", "TAG", "IMAGE ID", "SIZE", "PINNED", "RUNTIME CLASS")


@click.command(name="ls")
@click.argument("repository", required=False, metavar="[REPOSITORY[:TAG]]")
@output.list_form_option(
    help="The output format; wide has whole IDs and digests, name only the IDs."
)
@runtime_option
@with_node_options
def command(
    node: NodeOptions, repository: str | None, form: ListFormat, runtime: str | None
) -> None:
    """List the images.

    A runtime class in brackets means that the image was pulled for it by digest, because this
    runtime keeps no images by class: pods of that class must name the digest.
    """
    running.run(_show(node, repository, runtime, form))


async def _show(
    node: NodeOptions, repository: str | None, runtime_class: str | None, form: ListFormat
) -> None:
    handler = await node.handler(runtime_class)
    async with node.runtime() as runtime:
        listed = node_images.merged(await runtime.images())
    handlers = node_images.handlers_of(listed, (await node.state.load()).digest_pulls)
    images = [
        image
        for image in sorted(listed, key=_order)
        if (not repository or _is_asked_for(image, repository))
        and (not runtime_class or handler in handlers[local_id(image)].all)
    ]
    match form:
        case ListFormat.NAME:
            click.echo("".join(f"{image.id}\n" for image in images), nl=False)
        case ListFormat.TABLE | ListFormat.WIDE:
            is_wide = form is ListFormat.WIDE
            click.echo(await _table(node, images, handlers, is_wide=is_wide), nl=False)
        case ListFormat.JSON | ListFormat.YAML:
            value = {"images": [document(image) for image in images]}
            click.echo(output.document(value, Format(form.value)), nl=False)


def document(value: Image) -> dict[str, Any]:
    """The form of crictl, which is protobuf's JSON: camelCase, and 64-bit numbers as text."""
    uid = {} if value.uid is None else {"uid": {"value": str(value.uid)}}
    spec = {
        "image": value.id,
        "annotations": dict(value.annotations),
        "runtimeHandler": value.runtime_handler,
    }
    return {
        "id": value.id,
        "repoTags": list(value.repo_tags),
        "repoDigests": list(value.repo_digests),
        "size": str(value.size_bytes),
        **uid,
        "username": value.username,
        **({"spec": spec} if value.runtime_handler or value.annotations else {}),
        "pinned": value.pinned,
    }


def _is_asked_for(image: Image, asked: str) -> bool:
    """True for any of its names, with or without the tag."""
    repositories = {name for name, _ in _names(image)}
    return asked in repositories or node_images.has_name(image, asked)


def _order(image: Image) -> tuple[str, str]:
    return node_images.display_name(image), image.runtime_handler


async def _table(
    node: NodeOptions,
    images: Iterable[Image],
    handlers: Mapping[LocalImageId, ImageHandlers],
    *,
    is_wide: bool,
) -> str:
    shown = {local_id(image): handlers[local_id(image)] for image in images}
    labels = await node.runtime_classes.labels(shown)
    rows = [row for image in images for row in _rows(image, labels[local_id(image)], is_wide)]
    headers = (*_HEADERS, "DIGEST") if is_wide else _HEADERS
    return output.table(headers, rows, is_whole=is_wide)


def _rows(image: Image, runtime_class: str, is_wide: bool) -> Iterator[tuple[str, ...]]:
    digest = next((name.partition("@")[2] for name in image.repo_digests), _NONE)
    short_id = image.id.rpartition(":")[2][:_SHORT_ID_CHARACTERS]
    for name, tag in _names(image):
        yield (
            name,
            tag,
            image.id if is_wide else short_id,
            quantities.format_bytes(image.size_bytes),
            str(image.pinned).lower(),
            runtime_class,
            *((digest,) if is_wide else ()),
        )


def _names(image: Image) -> list[tuple[str, str]]:
    """(repository, tag) of every tag; an image without tags has the repository of its digest."""
    tagged = [(tag.rpartition(":")[0], tag.rpartition(":")[2]) for tag in image.repo_tags]
    by_digest = [(name.partition("@")[0], _NONE) for name in image.repo_digests[:1]]
    return tagged or by_digest or [(_NONE, _NONE)]
