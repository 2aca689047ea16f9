"""`lading image ls`: the images, one line for each tag, with the runtime class of each."""

from collections.abc import Iterable, Iterator, Mapping

import click
import msgspec

from lading.cli import output, running
from lading.cli.image import crictl_form, filters
from lading.cli.image.filters import Filter
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.output import Format
from lading.kernel import quantities
from lading.ports.cri import Image
from lading.runtime_images import images as node_images
from lading.runtime_images.types import ImageHandlers, LocalImageId, local_id

_NONE = "<none>"
_SHORT_ID_CHARACTERS = 13


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    digests: bool
    no_trunc: bool
    pinned: bool


class ImageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which images are asked for; what is None or empty restricts nothing."""

    repository: str | None
    filters: tuple[Filter, ...]
    runtime_class: str | None


@click.command(name="ls")
@click.argument("repository", required=False, metavar="[REPOSITORY[:TAG]]")
@click.option("-f", "--filter", "wanted", multiple=True, callback=filters.read_all,
              metavar="KEY=VALUE",
              help="dangling=true|false or reference=REGEXP; may be repeated.")  # fmt: skip
@output.form_option(default=Format.TABLE)
@click.option("-q", "--quiet", is_flag=True, help="Print only the IDs.")
@click.option("--digests", is_flag=True, help="Show the digests.")
@click.option("--no-trunc", is_flag=True, help="Do not shorten IDs and digests.")
@click.option("--pinned", is_flag=True, help="Add the column PINNED.")
@runtime_option
@with_node_options
def command(
    node: NodeOptions,
    repository: str | None,
    wanted: tuple[Filter, ...],
    form: Format,
    quiet: bool,
    digests: bool,
    no_trunc: bool,
    pinned: bool,
    runtime: str | None,
) -> None:
    """List the images.

    A runtime class in brackets means that the image was pulled for it by digest, because this
    runtime keeps no images by class: pods of that class must name the digest.
    """
    columns = Columns(digests=digests, no_trunc=no_trunc, pinned=pinned)
    query = ImageQuery(repository=repository, filters=wanted, runtime_class=runtime)
    running.run(_show(node, query, form, columns, quiet=quiet), may_log=False)


async def _show(
    node: NodeOptions, query: ImageQuery, form: Format, columns: Columns, *, quiet: bool
) -> None:
    handler = await node.handler(query.runtime_class)
    async with node.runtime() as runtime:
        listed = node_images.merged(await runtime.images())
    handlers = node_images.handlers_of(listed, (await node.state.load()).digest_pulls)
    images = [
        image
        for image in sorted(listed, key=_order)
        if (not query.repository or _is_asked_for(image, query.repository))
        and all(is_wanted(image) for is_wanted in query.filters)
        and (not query.runtime_class or handler in handlers[local_id(image)].all)
    ]
    if quiet:
        click.echo("".join(f"{image.id}\n" for image in images), nl=False)
    elif form is Format.TABLE:
        click.echo(await _table(node, images, handlers, columns), nl=False)
    else:
        value = {"images": [crictl_form.image(image) for image in images]}
        click.echo(output.document(value, form), nl=False)


def _is_asked_for(image: Image, asked: str) -> bool:
    """By any of its names, with or without the tag."""
    repositories = {name for name, _ in _names(image)}
    return asked in repositories or node_images.has_name(image, asked)


def _order(image: Image) -> tuple[str, str]:
    return node_images.display_name(image), image.runtime_handler


async def _table(
    node: NodeOptions,
    images: Iterable[Image],
    handlers: Mapping[LocalImageId, ImageHandlers],
    columns: Columns,
) -> str:
    shown = {local_id(image): handlers[local_id(image)] for image in images}
    labels = await node.runtime_classes.labels(shown)
    headers = {
        "IMAGE": True,
        "TAG": True,
        "DIGEST": columns.digests,
        "IMAGE ID": True,
        "SIZE": True,
        "PINNED": columns.pinned,
        "RUNTIME CLASS": True,
    }
    rows = [row for image in images for row in _rows(image, columns, labels[local_id(image)])]
    columns_shown = [header for header, is_shown in headers.items() if is_shown]
    cells = [[row[header] for header in columns_shown] for row in rows]
    return output.table(columns_shown, cells, is_whole=columns.no_trunc)


def _rows(image: Image, columns: Columns, runtime_class: str) -> Iterator[dict[str, str]]:
    digest = next((name.partition("@")[2] for name in image.repo_digests), _NONE)
    for name, tag in _names(image):
        yield {
            "IMAGE": name,
            "TAG": tag,
            "DIGEST": digest if columns.no_trunc else _short(digest),
            "IMAGE ID": image.id if columns.no_trunc else _short(image.id),
            "SIZE": quantities.format_bytes(image.size_bytes),
            "PINNED": str(image.pinned).lower(),
            "RUNTIME CLASS": runtime_class,
        }


def _names(image: Image) -> list[tuple[str, str]]:
    """(repository, tag) of every tag; an image without tags has the repository of its digest."""
    tagged = [(tag.rpartition(":")[0], tag.rpartition(":")[2]) for tag in image.repo_tags]
    by_digest = [(name.partition("@")[0], _NONE) for name in image.repo_digests[:1]]
    return tagged or by_digest or [(_NONE, _NONE)]


def _short(text: str) -> str:
    return text if text == _NONE else text.rpartition(":")[2][:_SHORT_ID_CHARACTERS]
