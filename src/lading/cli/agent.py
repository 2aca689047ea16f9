"""`lading agent`: pulls and pins the images of one node; `--cleanup` unpins them."""

import random
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import click
import msgspec

from lading.cli import connection, feature_options, options, running
from lading.cli.connection import Target
from lading.cli.options import Removed
from lading.cli.pin.host import owned
from lading.cli.process import REMOVED_LOG_FORMAT, ServingProcess, process_options
from lading.kernel import durations
from lading.kernel.feature_gates import Gates
from lading.pinned_images.node.types import PinSettings
from lading.ports.node import KUBELET_PORT
from lading.wiring import agent, host, machine
from lading.wiring.clock import system_clock
from lading.wiring.host import Host, open_runtime
from lading.wiring.registries import CredentialSettings

_DEFAULTS = PinSettings()
_REMOVED = {
    "--expansion-factor": Removed("the estimate of unpacked sizes is fixed", has_value=True),
    "--log-format": REMOVED_LOG_FORMAT,
}
FormerNames = options.with_former_options(renamed={"--node-name": "--node"}, removed=_REMOVED)


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    node_name: str
    host: Host
    settings: PinSettings
    gates: Gates


def _period_option(name: str, default: timedelta, text: str) -> options.Decorator:
    return click.option(
        name,
        metavar="DURATION",
        callback=options.meaning(options.positive_period),
        default=durations.format_duration(default),
        show_default=True,
        help=text,
    )


@click.command(name="agent", cls=FormerNames)
@click.option(
    "--node",
    "node_name",
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
@options.state_dir_option(help="The directory for state that must survive a restart.")
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
@click.option(
    "--max-parallel-image-pulls",
    metavar="COUNT",
    type=click.IntRange(1, 100),
    default=_DEFAULTS.parallel_pulls_max,
    show_default=True,
    help="How many images are pulled at once; at most 2 on a control plane node.",
)
@click.option(
    "--behind-cache",
    is_flag=True,
    help="Pull a layer that several images share from the same repository on every node. "
    "For nodes that use a pull-through cache.",
)
@click.option(
    "--require-disk-check",
    is_flag=True,
    help="Pull nothing while the free space or the size of an image is unknown.",
)
@_period_option(
    "--pull-progress-timeout",
    _DEFAULTS.pull_progress_timeout,
    "Cancel a pull, and retry it later, when no bytes arrive for this long; longer on slow lines.",
)
@_period_option(
    "--resync-period",
    _DEFAULTS.resync_period,
    "How often the node is compared with its sets, even without a change.",
)
@feature_options.feature_gates_option()
@click.option("--cleanup", is_flag=True, help="Unpin every image that Lading pinned, and exit.")
@feature_options.credential_options
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
    require_disk_check: bool,
    pull_progress_timeout: timedelta,
    resync_period: timedelta,
    gates: Gates,
    cleanup: bool,
    credentials: CredentialSettings,
    target: Target,
    process: ServingProcess,
) -> None:
    """Run the agent of a node. It pulls and pins the images of the node's PinnedImageSets."""
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


async def _run(wanted: _Options, target: Target, process: ServingProcess) -> None:
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
    """Until the process ends, so that no other command changes the pins."""
    owner = f"the agent of node {wanted.node_name}"
    stack.enter_context(machine.owning(wanted.host.state_dir, owner))


async def _cleanup(place: Host) -> None:
    """Needs only the runtime, so it works when the cluster is gone."""
    with owned(place.state_dir, place.runtime_endpoint, "agent --cleanup"):
        async with open_runtime(
            place.runtime_endpoint, system_clock(), host_root=place.root
        ) as runtime:
            pins = await runtime.pins.recorded()
            if pins or await runtime.pins.outdated():
                await runtime.pins.write(())
            click.echo(f"unpinned {len({one.pin.image_id for one in pins})} images")
