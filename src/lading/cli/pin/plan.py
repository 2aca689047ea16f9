"""`lading pin plan`: the downloads and disk space of sets on each node, before an apply."""

import socket
from collections.abc import Sequence
from pathlib import Path

import click

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.cli import connection, feature_options, options, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.cli.pin import plan_report, sets
from lading.kernel.feature_gates import Gates
from lading.kernel.objects import Key
from lading.pinned_images.node import host as node_host
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import PinSettings
from lading.wiring import cluster_preview, host
from lading.wiring.clock import system_clock
from lading.wiring.cluster_preview import Planned
from lading.wiring.host import Host


@click.command(name="plan")
@options.files_option(required=True)
@click.option(
    "--runtime-endpoint",
    "endpoints",
    metavar="SOCKET",
    multiple=True,
    help="A container runtime, unix:///..., instead of a cluster; may be repeated.",
)
@sets.pull_secret_option
@feature_options.feature_gates_option()
@click.option(
    "--behind-cache",
    is_flag=True,
    help="Also show what a pull-through cache of the site downloads for all nodes.",
)
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(
    target: Target,
    files: tuple[str, ...],
    endpoints: tuple[str, ...],
    secrets: tuple[Key, ...],
    gates: Gates,
    behind_cache: bool,
    form: Format,
) -> None:
    """Show the images and bytes that each node would pull, its free space, and what it refuses.

    The files may also have new pools and runtime classes. The exit code is 1 when a node would
    refuse an image, when an image cannot be pulled from its registry, when the free space of a node
    is unknown, and when no node would take a set. Set --feature-gates as for the agents.

    The free space comes from the kubelets, through the API server. This needs the right to `get`
    `nodes/proxy`.
    """
    if endpoints and secrets:
        raise click.UsageError(
            "--pull-secret needs a cluster, and --runtime-endpoint uses none;"
            " name an auth file in REGISTRY_AUTH_FILE instead"
        )
    running.run(_plan(target, files, endpoints, secrets, gates, form, behind_cache=behind_cache))


async def _plan(
    target: Target,
    files: tuple[str, ...],
    endpoints: tuple[str, ...],
    secrets: tuple[Key, ...],
    gates: Gates,
    form: Format,
    *,
    behind_cache: bool,
) -> None:
    planned = await sets.planned_in(files)
    if endpoints:
        previews = await _of_hosts(planned.sets, endpoints, gates)
    else:
        previews = await _of_cluster(planned, target, secrets, gates)
    if previews or form is not Format.TABLE:
        text = plan_report.rendered(previews, form, behind_cache=behind_cache)
        click.echo(text, nl=False)
    complaints = plan_report.complaints(previews, [one.metadata.name for one in planned.sets])
    if complaints:
        raise click.ClickException("; ".join(complaints))


async def _of_cluster(
    planned: Planned, target: Target, secrets: tuple[Key, ...], gates: Gates
) -> Sequence[Preview]:
    async with target.open() as client:
        return await cluster_preview.previews(
            client,
            planned,
            system_clock(),
            journal=sets.HOST_STATE_FOLDER / "resolutions.jsonl",
            pull_secrets=secrets,
            gates=gates,
            settings=PinSettings(),
        )


async def _of_hosts(
    wanted: Sequence[PinnedImageSet], endpoints: tuple[str, ...], gates: Gates
) -> Sequence[Preview]:
    clock = system_clock()
    previews = []
    for endpoint in endpoints:
        place = Host(runtime_endpoint=endpoint, state_dir=sets.HOST_STATE_FOLDER)
        async with host.open_host(place, clock) as parts:
            desired = node_host.desired_of(
                name_of(endpoint, endpoints),
                wanted,
                handlers=host.declared_handlers(place.root, gates),
                settings=PinSettings(),
            )
            previews.append(await host.preview(parts, desired, clock, gates=gates))
    return previews


def name_of(endpoint: str, endpoints: tuple[str, ...]) -> str:
    return socket.gethostname() if len(endpoints) == 1 else Path(endpoint).parent.name
