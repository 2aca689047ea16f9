"""`lading prepull status`: one line per Image, once or until every Image is settled."""

import asyncio
import textwrap
from collections.abc import Iterator
from typing import Any

import click

from lading.adapters.kube.client import KubeClient
from lading.api.longhorn import IMAGES, Image, ImageState
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.cli.terminal import Screen
from lading.kernel import texts
from lading.ports.kube import Selection
from lading.prepull import status_row
from lading.prepull.types import ImageReason

WATCH_SECONDS = 1.0
_SETTLED = {ImageState.DEPLOYED, ImageState.UNKNOWN}
_URL_CHARACTERS_MAX = 34
_DIGEST_CHARACTERS = 8
COLUMNS = 80
_WITHOUT_NOTE = {ImageReason.DEPLOYED, ImageReason.DEPLOYING}


@click.command(name="status")
@click.option("-w", "--watch", is_flag=True, help="Watch until every Image is deployed.")
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, watch: bool, form: Format) -> None:
    """Show which worker nodes hold each Image, and why others do not.

    The last line says in which way the images are held, and why.

    Without --namespace it shows the Images of all namespaces.
    """
    running.run(_status(target, watch, form))


async def _status(target: Target, watch: bool, form: Format) -> None:
    async with target.open() as client:
        with Screen(redraw=watch) as screen:
            while True:
                found = await read(client, target.namespace)
                screen.show(rendered(found, form))
                if not watch or (found and all(map(is_settled, found))):
                    return
                await asyncio.sleep(WATCH_SECONDS)


async def read(client: KubeClient, namespace: str) -> list[Image]:
    """Reads all namespaces by default, because the name of the controller's is not known."""
    found = [one async for one in client.each(IMAGES, Selection(namespace=namespace))]
    return sorted(found, key=lambda one: one.key)


def is_settled(image: Image) -> bool:
    status = image.status
    return status.state in _SETTLED and status.observed_generation == image.metadata.generation


def rendered(found: list[Image], form: Format) -> str:
    rows = [status_row.row(one) for one in found]
    if form is not Format.TABLE:
        return output.document(rows, form)
    if not rows:
        return "No Images. Apply one with `lading apply -f FILE`, or set --prepull-image.\n"
    headers = ("IMAGE", "STATE", "NODES", "REASON", "URL")
    cells = [
        (
            one["name"],
            one["state"],
            f"{one['deployedNodes']}/{one['nodes']}",
            one["reason"],
            _short(one["url"]),
        )
        for one in rows
    ]
    shown = output.table(headers, cells)
    return "\n".join((shown, *_notes(rows), *_ways(rows)))


def _notes(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Shows a fault once for all nodes and Images that have it."""
    for one in rows:
        nodes_by_reason: dict[str, list[str]] = {}
        messages: dict[str, str] = {}
        for fault in one["failures"]:
            nodes_by_reason.setdefault(fault["reason"], []).append(fault["node"])
            messages.setdefault(fault["reason"], fault["message"])
        for reason, nodes in nodes_by_reason.items():
            yield _note(f"{one['name']}: {reason} on {output.names(nodes)}", messages[reason])
    others: dict[tuple[str, str], list[str]] = {}
    for one in rows:
        if not one["failures"] and one["reason"] not in _WITHOUT_NOTE:
            others.setdefault((one["reason"], one["message"]), []).append(one["name"])
    for (reason, message), names in others.items():
        yield _note(f"{output.names(names)}: {reason}", message)


def _ways(rows: list[dict[str, Any]]) -> Iterator[str]:
    """How images are held, and why; the same for all Images of a controller."""
    for message in dict.fromkeys(one["heldAsMessage"] for one in rows):
        if message:
            yield "\n".join((*textwrap.wrap(texts.bounded_text(message), COLUMNS), ""))


def _note(about: str, message: str) -> str:
    lines = textwrap.wrap(
        texts.bounded_text(message), COLUMNS, initial_indent="  ", subsequent_indent="  "
    )
    return "\n".join((texts.bounded_text(about), *lines, ""))


def _short(url: str) -> str:
    """Eight characters of a digest tell images apart; the end of a long URL names the image."""
    name, at, digest = url.partition("@")
    if at:
        algorithm, _, value = digest.partition(":")
        url = f"{name}@{algorithm}:{value[:_DIGEST_CHARACTERS]}"
    return url if len(url) <= _URL_CHARACTERS_MAX else f"...{url[3 - _URL_CHARACTERS_MAX :]}"
