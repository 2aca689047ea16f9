"""`lading agent`: keeps the images of one node; `--cleanup` takes back what it pinned there."""

import random
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from lading.cli import connection, options, running
from lading.cli.connection import Target
from lading.cli.credential_options import credential_options
from lading.cli.feature_gates import feature_gates_option
from lading.cli.pin import host_state, setting_options
from lading.cli.process_options import process_options
from lading.kernel import durations
from lading.kernel.feature_gates import Gates
from lading.pinned_images.node.types import PinSettings
from lading.ports.kubelet import KUBELET_PORT
from lading.wiring import ownership
from lading.wiring.clock import system_clock

if TYPE_CHECKING:
    from lading.cli.process import ServingProcess
    from lading.wiring.host import Host
    from lading.wiring.registries import CredentialSettings


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    node_name: str
    host: "Host"
    settings: PinSettings
    gates: Gates


@click.command(name="agent")
@click.option(
    "--node-name",
    metavar="NAME",
    envvar="NODE_NAME",
    required=True,
    help="The Node of this machine.",
)
@click.option(
    "--runtime-endpoint",
    metavar="SOCKET",
    envvar="CONTAINER_RUNTIME_ENDPOINT",
    default="unix:///run/containerd/containerd.sock",
    show_default=True,
    help="Socket of the container runtime.",
)
@click.option(
    "--host-root",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("/"),
    show_default=True,
    help="The directory where the host's files are mounted.",
)
@host_state.state_dir_option(help="The directory for state that must survive a restart.")
@click.option(
    "--kubelet-port",
    metavar="PORT",
    type=click.IntRange(1, 65535),
    default=KUBELET_PORT,
    show_default=True,
    help="The port of this node's kubelet, which reports its limits.",
)
@click.option(
    "--kubelet-ca-file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The CA of the kubelet's serving certificate; default: the CA of the cluster.",
)
@setting_options.parallel_pulls_option
@setting_options.behind_cache_option
@setting_options.expansion_factor_option
@setting_options.require_disk_check_option
@setting_options.progress_timeout_option
@click.option(
    "--resync-period",
    "resync_period",
    metavar="DURATION",
    callback=options.meaning(options.positive_period),
    default=durations.format_duration(setting_options.DEFAULTS.resync_period),
    show_default=True,
    help="The longest time between two reconciles of the node.",
)
@feature_gates_option()
@click.option("--cleanup", is_flag=True, help="Unpin every image that Lading pinned, and exit.")
@credential_options
@connection.target_options
@process_options
def command(
    node_name: str,
    runtime_endpoint: str,
    host_root: Path,
    state_dir: Path,
    kubelet_port: int,
    kubelet_ca_file: Path | None,
    max_parallel_image_pulls: int,
    behind_cache: bool,
    expansion_factor: float,
    require_disk_check: bool,
    pull_progress_timeout: timedelta,
    resync_period: timedelta,
    gates: Gates,
    cleanup: bool,
    credentials: "CredentialSettings",
    target: Target,
    process: "ServingProcess",
) -> None:
    """Run the agent of a node. It pulls and pins the images of the node's PinnedImageSets."""
    from lading.wiring.host import Host  # slow to load, and --help needs none of it

    wanted = _Options(
        node_name=node_name,
        host=Host(
            runtime_endpoint=runtime_endpoint,
            state_dir=state_dir,
            kubelet_port=kubelet_port,
            kubelet_ca_file=kubelet_ca_file,
            node_name=node_name,
            root=host_root,
            credentials=credentials,
        ),
        settings=PinSettings(
            parallel_pulls_max=max_parallel_image_pulls,
            behind_cache=behind_cache,
            expansion_factor=expansion_factor,
            require_disk_check=require_disk_check,
            pull_progress_timeout=pull_progress_timeout,
            resync_period=resync_period,
        ),
        gates=gates,
    )
    if cleanup:
        running.run(_cleanup(wanted.host))
    else:
        running.run(process.serve(lambda: _run(wanted, target, process)))


async def _run(wanted: _Options, target: Target, process: "ServingProcess") -> None:
    from lading.wiring import agent, host

    clock, found = system_clock(), target.found()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        await process.dependencies.wait_for("the state directory", lambda: _own(wanted, stack))
        kube = await enter(process.open_kube(found))
        parts = await process.dependencies.wait_for(
            "the container runtime",
            lambda: enter(host.open_host(wanted.host, clock, connection=found)),
        )
        manager = await agent.open_agent(
            parts,
            node_name=wanted.node_name,
            kube=kube,
            clock=clock,
            metrics=process.metrics,
            gates=wanted.gates,
            namespace=target.default_namespace,
            settings=(wanted.settings,),
            rng=random.SystemRandom(),
        )
        await process.run(manager)


async def _own(wanted: _Options, stack: AsyncExitStack) -> None:
    """Until the process ends. A command without a cluster has the node for a while only."""
    owner = f"the agent of node {wanted.node_name}"
    stack.enter_context(ownership.owning(wanted.host.state_dir, owner))


async def _cleanup(place: "Host") -> None:
    """Needs the runtime only: it works when the cluster is gone."""
    from lading.wiring.runtimes import open_runtime

    with host_state.owned(place.state_dir, place.runtime_endpoint, "agent --cleanup"):
        async with open_runtime(
            place.runtime_endpoint, system_clock(), host_root=place.root
        ) as runtime:
            pins = await runtime.pins.recorded()
            if pins or await runtime.pins.outdated():
                await runtime.pins.write(())
            click.echo(f"unpinned {len({one.pin.image_id for one in pins})} images")
