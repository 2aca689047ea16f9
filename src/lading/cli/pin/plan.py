"""`lading pin plan`: what sets would cost on each node, before anything is applied."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.cli import connection, options, output, running
from lading.cli.connection import Target
from lading.cli.feature_gates import feature_gates_option
from lading.cli.output import Format
from lading.cli.pin import sets, setting_options
from lading.kernel import quantities, texts
from lading.kernel.feature_gates import Gates
from lading.kernel.images import ImageKey
from lading.kernel.objects import Key
from lading.pinned_images.node import host as node_host
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import PinSettings
from lading.wiring import cluster_preview, host, without_cluster
from lading.wiring.clock import system_clock
from lading.wiring.host import Host

NAMED_NODES_MAX = 5


@click.command(name="plan")
@options.files_option(required=True)
@click.option(
    "--runtime-endpoint",
    "endpoints",
    multiple=True,
    help="A container runtime, unix:///..., instead of a cluster; may be given several times.",
)
@setting_options.pull_secret_option
@feature_gates_option()
@setting_options.expansion_factor_option
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(
    target: Target,
    files: tuple[str, ...],
    endpoints: tuple[str, ...],
    secrets: tuple[Key, ...],
    gates: Gates,
    expansion_factor: float,
    form: Format,
) -> None:
    """Show the images and bytes that each node would pull, the free space, and refusals.

    The command fails when a node would refuse an image or when no node would take a set. Use the
    feature gates and the expansion factor of the agents.

    The free space comes from the kubelets, through the API server. This needs `get` on
    `nodes/proxy`; without it the free space is unknown.
    """
    if endpoints and secrets:
        raise click.UsageError(
            "--pull-secret needs a cluster, and --runtime-endpoint uses none;"
            " name an auth file in REGISTRY_AUTH_FILE instead"
        )
    settings = PinSettings(expansion_factor=expansion_factor)
    running.run(_plan(target, files, endpoints, secrets, _Assumed(gates, settings), form))


@dataclass(frozen=True, slots=True)
class _Assumed:
    """What the agents are assumed to run with."""

    gates: Gates
    settings: PinSettings


async def _plan(
    target: Target,
    files: tuple[str, ...],
    endpoints: tuple[str, ...],
    secrets: tuple[Key, ...],
    assumed: _Assumed,
    form: Format,
) -> None:
    wanted = await sets.sets_in(files)
    if endpoints:
        previews = await _of_hosts(wanted, endpoints, assumed)
    else:
        previews = await _of_cluster(wanted, target, secrets, assumed)
    _show(previews, [one.metadata.name for one in wanted], form)


def _show(previews: Sequence[Preview], names: Sequence[str], form: Format) -> None:
    if previews or form is not Format.TABLE:
        click.echo(rendered(previews, form), nl=False)
    taken = {name for one in previews for name in one.set_names}
    complaints = [
        f"no node would take the set {name}: compare its labels with `lading get mcp`, and its"
        " nodeSelector with `lading get nodes`"
        for name in names
        if name not in taken
    ]
    if refusing := sum(bool(one.refusals) for one in previews):
        complaints.append(f"{refusing} of {len(previews)} nodes would refuse")
    if complaints:
        raise click.ClickException("; ".join(complaints))


async def _of_cluster(
    wanted: list[PinnedImageSet], target: Target, secrets: tuple[Key, ...], assumed: _Assumed
) -> Sequence[Preview]:
    async with target.open() as client:
        return await cluster_preview.previews(
            client,
            wanted,
            system_clock(),
            journal=sets.HOST_STATE_FOLDER / "resolutions.jsonl",
            pull_secrets=secrets,
            gates=assumed.gates,
            settings=assumed.settings,
        )


async def _of_hosts(
    wanted: list[PinnedImageSet], endpoints: tuple[str, ...], assumed: _Assumed
) -> Sequence[Preview]:
    clock = system_clock()
    previews = []
    for endpoint in endpoints:
        place = Host(runtime_endpoint=endpoint, state_dir=sets.HOST_STATE_FOLDER)
        async with host.open_host(place, clock) as parts:
            desired = node_host.desired_of(
                name_of(endpoint, endpoints),
                wanted,
                handlers=without_cluster.declared_handlers(place.root, assumed.gates),
                settings=assumed.settings,
                now=clock.now(),
            )
            gates = assumed.gates
            previews.append(await without_cluster.preview(parts, desired, clock, gates=gates))
    return previews


def name_of(endpoint: str, endpoints: tuple[str, ...]) -> str:
    return socket.gethostname() if len(endpoints) == 1 else Path(endpoint).parent.name


def rendered(previews: Sequence[Preview], form: Format) -> str:
    if form is not Format.TABLE:
        return output.document([_plain(one) for one in previews], form)
    headers = ("NODE", "IMAGES", "TO PULL", "DOWNLOAD", "ON DISK", "FREE NOW", "FREE AFTER")
    rows = [
        (
            one.node_name,
            str(one.wanted_count),
            str(len(one.to_pull)),
            _at_least(one, one.pull_bytes),
            _at_least(one, one.disk_bytes),
            _bytes(one.free_bytes),
            _bytes(one.free_after_bytes),
        )
        for one in previews
    ]
    refused = "".join(
        texts.bounded_text(f"{one.node_name} refuses {refusal}") + "\n"
        for one in previews
        for refusal in one.refusals
    )
    return output.table(headers, rows) + refused + _unsized(previews)


def _plain(one: Preview) -> dict[str, Any]:
    return {
        "node": one.node_name,
        "sets": list(one.set_names),
        "images": one.wanted_count,
        "toPull": [_plain_image(key) for key in one.to_pull],
        "sizeUnknown": [_plain_image(key) for key in one.unknown],
        "downloadBytes": one.pull_bytes,
        "diskBytes": one.disk_bytes,
        "freeBytes": one.free_bytes,
        "freeAfterBytes": one.free_after_bytes,
        "refusals": list(one.refusals),
    }


def _plain_image(key: ImageKey) -> dict[str, str]:
    handler = {"runtimeHandler": key.runtime_handler} if key.runtime_handler else {}
    return {"image": key.image} | handler


def _unsized(previews: Sequence[Preview]) -> str:
    wanted_on: dict[ImageKey, list[str]] = {}
    for one in previews:
        for key in one.unknown:
            wanted_on.setdefault(key, []).append(one.node_name)
    return "".join(
        f"the size of {key} is unknown; wanted on {_names(nodes)}\n"
        for key, nodes in sorted(wanted_on.items())
    )


def _names(nodes: Sequence[str]) -> str:
    return ", ".join(nodes) if len(nodes) <= NAMED_NODES_MAX else f"{len(nodes)} nodes"


def _at_least(one: Preview, count: int) -> str:
    shown = quantities.format_bytes(count)
    return f"{shown} or more" if one.unknown else shown


def _bytes(count: int | None) -> str:
    return "unknown" if count is None else quantities.format_bytes(count)
