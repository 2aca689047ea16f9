"""`lading prepull status`: one line per Image, once or until every Image is settled."""

import asyncio
from typing import Any

import click

from lading.adapters.kube.client import KubeClient
from lading.api.longhorn import IMAGES, Image, ImageState
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.kernel import conditions
from lading.ports.kube import Selection
from lading.prepull.rules import DEPLOYED

WATCH_SECONDS = 1.0
_SETTLED = {ImageState.DEPLOYED, ImageState.UNKNOWN}
_URL_CHARACTERS_MAX = 34


@click.command(name="status")
@click.option("-w", "--watch", is_flag=True, help="Watch until every Image is deployed.")
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, watch: bool, form: Format) -> None:
    """Show which worker nodes hold each Image, and why others do not."""
    running.run(_status(target, watch, form))


async def _status(target: Target, watch: bool, form: Format) -> None:
    async with target.open() as client:
        shown = ""
        while True:
            found = await read(client, target.namespace)
            text = rendered(found, form)
            if text != shown:
                click.echo(text, nl=False)
                shown = text
            if not watch or (found and all(map(is_settled, found))):
                return
            await asyncio.sleep(WATCH_SECONDS)


async def read(client: KubeClient, namespace: str) -> list[Image]:
    """Of all namespaces, unless one is given: the controller serves one, whatever its name."""
    found = [one async for one in client.each(IMAGES, Selection(namespace=namespace))]
    return sorted(found, key=lambda one: one.key)


def is_settled(image: Image) -> bool:
    status = image.status
    return status.state in _SETTLED and status.observed_generation == image.metadata.generation


def row(image: Image) -> dict[str, Any]:
    status = image.status
    condition = conditions.find(status.conditions, DEPLOYED)
    return {
        "namespace": image.metadata.namespace,
        "name": image.metadata.name,
        "url": image.spec.url,
        "state": status.state or ImageState.UNKNOWN.value,
        "deployedNodes": status.deployed_node_count,
        "nodes": status.node_count,
        "reason": condition.reason if condition else "NotReconciled",
        "message": condition.message if condition else "The controller has not seen it yet.",
        "failures": [
            {"node": one.node, "reason": one.reason, "message": one.message}
            for one in status.failures
        ],
    }


def rendered(found: list[Image], form: Format) -> str:
    rows = [row(one) for one in found]
    if form is not Format.TABLE:
        return output.document(rows, form)
    if not rows:
        return "No Images; --prepull-image of the controller or `lading apply -f FILE` makes one\n"
    shown = output.table(
        ("IMAGE", "STATE", "NODES", "REASON", "URL"),
        [
            (
                one["name"],
                one["state"],
                f"{one['deployedNodes']}/{one['nodes']}",
                one["reason"],
                _short(one["url"]),
            )
            for one in rows
        ],
    )
    failures = [(one["name"], fault) for one in rows for fault in one["failures"]]
    if failures:
        shown += "\n" + output.table(
            ("IMAGE", "NODE", "REASON", "MESSAGE"),
            [(name, one["node"], one["reason"], one["message"]) for name, one in failures],
        )
    return shown


def _short(url: str) -> str:
    """Tables fit 80 columns: the end of a URL names the image."""
    return url if len(url) <= _URL_CHARACTERS_MAX else f"…{url[1 - _URL_CHARACTERS_MAX :]}"
