"""`lading image ls`: the images, one line for each tag, with the runtime class of each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from lading.cli import output
from lading.cli.image import documents, sentences
from lading.cli.image.settings import Settings, class_label, runtime_option, with_settings
from lading.cli.output import Format
from lading.ports.cri import Image
from lading.runtime_images import listing, names, state
from lading.runtime_images.types import Resolution

_NONE = "<none>"
_SHORT_ID_CHARACTERS = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    digests: bool
    no_trunc: bool
    pinned: bool


@click.command(name="ls")
@click.argument("repository", required=False, metavar="[REPOSITORY[:TAG]]")
@output.form_option(default=Format.TABLE)
@click.option("-q", "--quiet", is_flag=True, help="Only the IDs.")
@click.option("--digests", is_flag=True, help="With the digest of each.")
@click.option("--no-trunc", is_flag=True, help="Whole IDs and digests.")
@click.option("--pinned", is_flag=True, help="With the pin of each.")
@runtime_option
@with_settings
def command(
    settings: Settings,
    repository: str | None,
    form: Format,
    quiet: bool,
    digests: bool,
    no_trunc: bool,
    pinned: bool,
    runtime: str | None,
) -> None:
    """List the images.

    A runtime class in brackets says that the image was pulled for it by digest, because this
    runtime keeps no images by class: pods of that class must name the digest.
    """
    columns = Columns(digests=digests, no_trunc=no_trunc, pinned=pinned)
    sentences.run(_show(settings, repository, form, columns, quiet=quiet, runtime_class=runtime))


async def _show(
    settings: Settings,
    repository: str | None,
    form: Format,
    columns: Columns,
    *,
    quiet: bool,
    runtime_class: str | None,
) -> None:
    handler = await settings.handler(runtime_class)
    async with settings.runtime() as runtime:
        listed = listing.merged(await runtime.images())
    resolutions = (await state.load(settings.document)).resolutions
    images = sorted(
        (
            image
            for image in listed
            if (not repository or _is_asked_for(image, repository))
            and (not runtime_class or handler in _handlers(image, resolutions))
        ),
        key=_order,
    )
    if quiet:
        click.echo("".join(f"{image.id}\n" for image in images), nl=False)
    elif form is Format.TABLE:
        click.echo(_table(images, columns, resolutions), nl=False)
    else:
        value = {"images": [documents.image(image) for image in images]}
        click.echo(output.document(value, form), nl=False)


def _is_asked_for(image: Image, asked: str) -> bool:
    """By any of its names, with or without the tag."""
    repositories = {name for name, _ in _names(image)}
    return asked in repositories or names.goes_by(image, asked)


def _order(image: Image) -> tuple[str, str]:
    return names.display_name(image), image.runtime_handler


def _handlers(image: Image, resolutions: Iterable[Resolution]) -> list[str]:
    """The handler that the runtime keeps it for, and those for which it was pulled by digest."""
    own_names = names.names_of(image)
    by_digest = {
        resolution.runtime_handler for resolution in resolutions if resolution.pulled in own_names
    }
    return [image.runtime_handler, *sorted(by_digest)]


def _table(images: Iterable[Image], columns: Columns, resolutions: Sequence[Resolution]) -> str:
    headers = {
        "IMAGE": True,
        "TAG": True,
        "DIGEST": columns.digests,
        "IMAGE ID": True,
        "SIZE": True,
        "PINNED": columns.pinned,
        "RUNTIME CLASS": True,
    }
    rows = [row for image in images for row in _rows(image, columns, resolutions)]
    shown = [header for header, is_shown in headers.items() if is_shown]
    return output.table(shown, [[row[header] for header in shown] for row in rows])


def _rows(
    image: Image, columns: Columns, resolutions: Sequence[Resolution]
) -> Iterator[dict[str, str]]:
    digest = next((name.partition("@")[2] for name in image.repo_digests), _NONE)
    for name, tag in _names(image):
        yield {
            "IMAGE": name,
            "TAG": tag,
            "DIGEST": digest if columns.no_trunc else _short(digest),
            "IMAGE ID": image.id if columns.no_trunc else _short(image.id),
            "SIZE": output.decimal_size(image.size_bytes),
            "PINNED": str(image.pinned).lower(),
            "RUNTIME CLASS": _runtime_class(image, resolutions),
        }


def _names(image: Image) -> list[tuple[str, str]]:
    """(repository, tag) of every tag; an image without tags has the repository of its digest."""
    tagged = [(tag.rpartition(":")[0], tag.rpartition(":")[2]) for tag in image.repo_tags]
    by_digest = [(name.partition("@")[0], _NONE) for name in image.repo_digests[:1]]
    return tagged or by_digest or [(_NONE, _NONE)]


def _short(text: str) -> str:
    return text if text == _NONE else text.removeprefix("sha256:")[:_SHORT_ID_CHARACTERS]


def _runtime_class(image: Image, resolutions: Sequence[Resolution]) -> str:
    """Handlers as `--runtime` takes them."""
    own, *by_digest = _handlers(image, resolutions)
    if own or not by_digest:
        return class_label(own)
    return ", ".join(f"[{class_label(name)}]" for name in by_digest)
