"""`lading image ls`: the images, one line for each tag, with the runtime class of each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import click

from lading.cli import output, running
from lading.cli.image import crictl_form
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.image.settings import Settings, with_settings
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    image: Image
    by_digest: tuple[str, ...]
    """The handlers for which it was pulled by digest."""

    @property
    def handlers(self) -> tuple[str, ...]:
        return (self.image.runtime_handler, *self.by_digest)


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
    running.run(_show(settings, repository, form, columns, quiet=quiet, runtime_class=runtime))


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
    entries = [
        entry
        for entry in sorted((_entry(image, resolutions) for image in listed), key=_order)
        if (not repository or _is_asked_for(entry.image, repository))
        and (not runtime_class or handler in entry.handlers)
    ]
    if quiet:
        click.echo("".join(f"{entry.image.id}\n" for entry in entries), nl=False)
    elif form is Format.TABLE:
        handlers = (handler for entry in entries for handler in entry.handlers)
        labels = await settings.runtime_classes.labels(handlers)
        click.echo(_table(entries, columns, labels), nl=False)
    else:
        value = {"images": [crictl_form.image(entry.image) for entry in entries]}
        click.echo(output.document(value, form), nl=False)


def _entry(image: Image, resolutions: Iterable[Resolution]) -> Entry:
    own_names = names.names_of(image)
    by_digest = {
        resolution.runtime_handler for resolution in resolutions if resolution.pulled in own_names
    }
    return Entry(image=image, by_digest=tuple(sorted(by_digest)))


def _is_asked_for(image: Image, asked: str) -> bool:
    """By any of its names, with or without the tag."""
    repositories = {name for name, _ in _names(image)}
    return asked in repositories or names.goes_by(image, asked)


def _order(entry: Entry) -> tuple[str, str]:
    return names.display_name(entry.image), entry.image.runtime_handler


def _table(entries: Iterable[Entry], columns: Columns, labels: Mapping[str, str]) -> str:
    headers = {
        "IMAGE": True,
        "TAG": True,
        "DIGEST": columns.digests,
        "IMAGE ID": True,
        "SIZE": True,
        "PINNED": columns.pinned,
        "RUNTIME CLASS": True,
    }
    rows = [row for entry in entries for row in _rows(entry, columns, labels)]
    shown = [header for header, is_shown in headers.items() if is_shown]
    return output.table(shown, [[row[header] for header in shown] for row in rows])


def _rows(entry: Entry, columns: Columns, labels: Mapping[str, str]) -> Iterator[dict[str, str]]:
    image = entry.image
    digest = next((name.partition("@")[2] for name in image.repo_digests), _NONE)
    for name, tag in _names(image):
        yield {
            "IMAGE": name,
            "TAG": tag,
            "DIGEST": digest if columns.no_trunc else _short(digest),
            "IMAGE ID": image.id if columns.no_trunc else _short(image.id),
            "SIZE": output.decimal_size(image.size_bytes),
            "PINNED": str(image.pinned).lower(),
            "RUNTIME CLASS": _runtime_class(entry, labels),
        }


def _names(image: Image) -> list[tuple[str, str]]:
    """(repository, tag) of every tag; an image without tags has the repository of its digest."""
    tagged = [(tag.rpartition(":")[0], tag.rpartition(":")[2]) for tag in image.repo_tags]
    by_digest = [(name.partition("@")[0], _NONE) for name in image.repo_digests[:1]]
    return tagged or by_digest or [(_NONE, _NONE)]


def _short(text: str) -> str:
    return text if text == _NONE else text.removeprefix("sha256:")[:_SHORT_ID_CHARACTERS]


def _runtime_class(entry: Entry, labels: Mapping[str, str]) -> str:
    if entry.image.runtime_handler or not entry.by_digest:
        return labels[entry.image.runtime_handler]
    return ", ".join(f"[{labels[handler]}]" for handler in entry.by_digest)
