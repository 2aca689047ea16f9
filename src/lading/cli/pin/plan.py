"""`lading pin plan`: what sets would cost on this host, before anything is applied."""

import socket
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from lading.adapters.clock import SystemClock
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.cli import connection, documents, output
from lading.cli.documents import UnreadableDocument
from lading.kernel import feature_gates, quantities
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import Settings
from lading.wiring import this_host, without_cluster


@click.command(name="plan")
@click.option("-f", "--filename", "files", multiple=True, required=True, help="A file, or -.")
@click.option(
    "--runtime-endpoint",
    "endpoints",
    multiple=True,
    required=True,
    envvar="CONTAINER_RUNTIME_ENDPOINT",
    help="The socket of a container runtime, unix:///...; may be given several times.",
)
def command(files: tuple[str, ...], endpoints: tuple[str, ...]) -> None:
    """Show what a runtime would pull, the bytes, what stays free, and what would be refused."""
    connection.run(_plan(sets_in(files), endpoints))


def sets_in(files: Sequence[str]) -> list[PinnedImageSet]:
    """The PinnedImageSets in the files; anything else is refused."""
    found = []
    for source in (source for file in files for source in documents.read(file)):
        where = f"{source.file}:{source.line(())}"
        if source.content.get("kind") != PINNED_IMAGE_SETS.kind:
            raise UnreadableDocument(f"{where}: expected a {PINNED_IMAGE_SETS.kind}")
        try:
            found.append(msgspec.convert(source.content, PinnedImageSet))
        except msgspec.ValidationError as error:
            raise UnreadableDocument(f"{where}: {error}") from error
    return found


async def _plan(sets: list[PinnedImageSet], endpoints: tuple[str, ...]) -> None:
    clock = SystemClock()
    previews = []
    for endpoint in endpoints:
        async with this_host.open_parts(endpoint, clock, state_folder=_state_folder()) as parts:
            desired = without_cluster.desired_of(
                name_of(endpoint, endpoints),
                sets,
                handlers=None,
                settings=Settings(),
                now=clock.now(),
            )
            previews.append(
                await without_cluster.preview(parts, desired, clock, gates=feature_gates.parse(""))
            )
    click.echo(rendered(previews), nl=False)


def name_of(endpoint: str, endpoints: tuple[str, ...]) -> str:
    return socket.gethostname() if len(endpoints) == 1 else Path(endpoint).parent.name


def _state_folder() -> Path:
    return connection.DEFAULT_DATA / "host"


def rendered(previews: Sequence[Preview]) -> str:
    headers = ("NODE", "IMAGES", "TO PULL", "DOWNLOAD", "ON DISK", "FREE NOW", "FREE AFTER")
    rows = [
        (
            one.node_name,
            str(one.wanted_count),
            str(len(one.to_pull)),
            quantities.format_bytes(one.pull_bytes),
            quantities.format_bytes(one.disk_bytes),
            _bytes(one.free_bytes),
            _bytes(one.free_after_bytes),
        )
        for one in previews
    ]
    refused = "".join(
        f"{one.node_name} refuses {refusal}\n" for one in previews for refusal in one.refusals
    )
    unsized = "".join(
        f"{one.node_name} cannot learn the size of {key}\n"
        for one in previews
        for key in one.unknown
    )
    return output.table(headers, rows) + refused + unsized


def _bytes(count: int | None) -> str:
    return "unknown" if count is None else quantities.format_bytes(count)
