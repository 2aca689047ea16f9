"""`lading pin diff`: the images that an edit of sets would add and free on the nodes."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from lading.cli import connection, options, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.cli.pin import sets
from lading.kernel import quantities
from lading.kernel.objects import Key
from lading.pinned_images.authoring.set_changes import SetDiff, Sizes
from lading.wiring import cluster_preview
from lading.wiring.clock import system_clock


@click.command(name="diff")
@options.files_option(required=True)
@sets.pull_secret_option
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, files: tuple[str, ...], secrets: tuple[Key, ...], form: Format) -> None:
    """Show the images and bytes that the sets in files would add and free, and change nothing.

    Sizes come from the registries, for the platform that most nodes have.
    """
    running.run(_diff(target, files, secrets, form))


async def _diff(
    target: Target, files: tuple[str, ...], secrets: tuple[Key, ...], form: Format
) -> None:
    planned = await sets.planned_in(files)
    async with target.open() as client:
        found, sizes = await cluster_preview.diffs(
            client,
            planned.sets,
            system_clock(),
            journal=sets.HOST_STATE_FOLDER / "resolutions.jsonl",
            pull_secrets=secrets,
        )
    if form is Format.TABLE:
        for line in lines(found, sizes):
            output.sentence(line)
    else:
        click.echo(output.document(plain(found, sizes), form), nl=False)


def lines(found: Sequence[SetDiff], sizes: Sizes) -> Iterator[str]:
    for one in found:
        yield f"pinnedimageset/{one.name}: {_summary(one)}"
        yield from (f"+ {image}" for image in one.added)
        yield from (f"- {image}" for image in one.freed)
        yield from (
            f"  {image} stays pinned by {output.names(by_sets)}"
            for image, by_sets in one.still_pinned
        )
    if all(one.changes_nothing for one in found):
        return
    added, freed = map(quantities.format_bytes, (sizes.added_bytes, sizes.freed_bytes))
    yield f"Each node pulls up to {added} and can free up to {freed}, compressed."
    if sizes.unknown:
        yield "Images that are not in these numbers, because their registry did not give a size:"
        yield from (f"  {image}" for image in sizes.unknown)


def _summary(one: SetDiff) -> str:
    if one.changes_nothing:
        return "no change"
    counts = f"{len(one.added)} added, {len(one.freed)} freed"
    return f"new, {counts}" if one.is_new else counts


def plain(found: Sequence[SetDiff], sizes: Sizes) -> dict[str, Any]:
    return {
        "sets": [
            {
                "name": one.name,
                "new": one.is_new,
                "added": [_plain_image(*image) for image in one.added],
                "freed": [_plain_image(*image) for image in one.freed],
                "stillPinned": [
                    _plain_image(*image) | {"sets": list(by_sets)}
                    for image, by_sets in one.still_pinned
                ],
            }
            for one in found
        ],
        "addedBytes": sizes.added_bytes,
        "freedBytes": sizes.freed_bytes,
        "sizeUnknown": list(sizes.unknown),
    }


def _plain_image(image: str, runtime_class: str) -> dict[str, Any]:
    return {"image": image} | ({"runtimeClassName": runtime_class} if runtime_class else {})
