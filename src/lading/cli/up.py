"""`lading up`: a whole cluster in this process, until Ctrl-C."""

import asyncio
import shlex
import shutil
import sysconfig
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import click

from lading.cli import connection, feature_options, options, output, running
from lading.cli.dashboard import SetPlans
from lading.cli.prepull.settings import image_option
from lading.embedded import cluster, cluster_registry, sample_sets
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.cluster_registry import RegistrySettings
from lading.embedded.node import NodeDescription
from lading.kernel.feature_gates import Gates
from lading.observability import logs
from lading.observability.logs import LogFormat
from lading.prepull.types import DefaultImage, PrePullSettings
from lading.web import serving
from lading.web.pruning_plan import PlanReader
from lading.web.serving import ServedDashboard
from lading.wiring import machine
from lading.wiring.clock import system_clock
from lading.wiring.live_progress import LiveProgress


@click.command(name="up", cls=options.with_former_options(renamed={"--data": "--state-dir"}))
@click.option(
    "--state-dir",
    "data",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    default=connection.DEFAULT_DATA,
    show_default=True,
    help="The folder for all data; a later start continues with it.",
)
@click.option(
    "--nodes",
    "node_count",
    metavar="COUNT",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="The number of nodes.",
)
@click.option(
    "--runtime-config",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A TOML file with the runtime handlers of the nodes and their guest platforms.",
)
@options.port_option(
    "--registry-port",
    help="The port of the registry; 0 takes the port of the last start, or a free port.",
)
@click.option(
    "--registry-auth",
    is_flag=True,
    help="Require a password for the registry, for a machine that several people share.",
)
@options.port_option(
    "--metrics-port", help="The port of /metrics, /healthz and /readyz; 0 takes a free port."
)
@image_option
@feature_options.feature_gates_option()
@options.log_level_option(default="warning")
def command(
    data: Path,
    node_count: int,
    runtime_config: Path | None,
    registry_port: int,
    registry_auth: bool,
    metrics_port: int,
    images: tuple[DefaultImage, ...],
    gates: Gates,
    log_level: str,
) -> None:
    """Run an API server, a registry, nodes and the controllers until Ctrl-C."""
    logs.configure(LogFormat.CONSOLE, log_level)
    guests = machine.handlers(runtime_config) if runtime_config else {}
    wanted = ClusterOptions(
        data=data,
        nodes=tuple(
            NodeDescription(name=f"node-{number}", guests=guests)
            for number in range(1, node_count + 1)
        ),
        registry=RegistrySettings(port=registry_port, with_password=registry_auth),
        gates=gates,
        prepull=PrePullSettings(images=images),
    )
    running.run(_up(wanted, metrics_port=metrics_port))


async def _up(wanted: ClusterOptions, *, metrics_port: int) -> None:
    async with cluster.open_cluster(wanted, system_clock()) as made:
        await _warn_of_a_moved_registry(made)
        await sample_sets.write_first(made, wanted.data)
        async with (
            _dashboard(made, wanted) as dashboard,
            cluster.serve_status_pages(made, port=metrics_port) as metrics_url,
        ):
            shown = welcome(made, wanted.data, dashboard.url, metrics_url)
            await running.until_signalled(_run(made, dashboard, shown))
        click.echo("Stopping. All data is kept: the next `lading up` continues with it.")


async def _warn_of_a_moved_registry(made: StandaloneCluster) -> None:
    """At every start, while objects still name an address that is no longer served."""
    for host in made.registry.former_hosts:
        names = await cluster_registry.left_behind(made.kube, host)
        if names:
            objects = "1 object names" if len(names) == 1 else f"{len(names)} objects name"
            output.sentence(
                f"Warning: the address of the registry changed from {host} to {made.registry.host}."
                f" {objects} images at the old address: {output.names(names)}. Change them to"
                f" {made.registry.host}, or start with --registry-port {host.rpartition(':')[2]}.",
                err=True,
            )


def _dashboard(
    made: StandaloneCluster, wanted: ClusterOptions
) -> AbstractAsyncContextManager[ServedDashboard]:
    """The dashboard of this cluster, with its gates, its registry and its last pruning Job."""
    return serving.opened(
        made.kube,
        system_clock(),
        port=0,
        cluster=made.api.url,
        plan=PlanReader(cluster.prune_plan_file(wanted.data), comes_later=True),
        planner=SetPlans(
            made.kube,
            gates=wanted.gates,
            auth_file=made.registry.auth_file,
            journal=wanted.data / "resolutions.jsonl",
        ),
        agents=LiveProgress(made.kube),
    )


async def _run(made: StandaloneCluster, dashboard: ServedDashboard, shown: str) -> None:
    """Prints the welcome only now, when Ctrl-C already works."""
    click.echo(shown)
    async with asyncio.TaskGroup() as group:
        group.create_task(made.run())
        group.create_task(dashboard.run())


def welcome(made: StandaloneCluster, data: Path, dashboard_url: str, metrics_url: str) -> str:
    """A user can paste every line below `In another terminal`."""
    shown_nodes = "\n".join(f"  {one.description.name:<12} {one.endpoint}" for one in made.nodes)
    a_set = shlex.quote(str(data / sample_sets.SET_FILE))
    an_image = shlex.quote(str(data / sample_sets.IMAGE_FILE))
    return f"""\
API server    {made.api.url}
Registry      {made.registry_url}{_password_note(made)}
Lading image  {made.own_image}
Dashboard     {dashboard_url}
Metrics       {metrics_url}/metrics
              {metrics_url}/nodes/node-1/metrics, and of each other node
Nodes, each with a container runtime on a socket:
{shown_nodes}

In another terminal, to pull and pin three small images on every node:
{_way_to_the_command()}{_exports(made)}
  lading get nodes
  lading pin plan -f {a_set}
  lading apply -f {a_set}
  lading pin status -w
To hold one of them with a pod on every node:
  lading apply -f {an_image}
  lading prepull status -w
To list the images of one node:
  lading image ls -r {shlex.quote(made.nodes[0].endpoint)}
To find what is wrong:
  lading doctor
kubectl, crictl and skopeo work, too. To copy an image into the registry:
skopeo copy --dest-tls-verify=false docker://IMAGE docker://{made.registry_host}/NAME
Ctrl-C stops it; everything is kept."""


def _password_note(made: StandaloneCluster) -> str:
    file = made.registry.auth_file
    return f", with the password in {file}" if file else ""


def _exports(made: StandaloneCluster) -> str:
    """Names the file with the password; other users can see the arguments of a process."""
    files = {"KUBECONFIG": made.api.kubeconfig, "REGISTRY_AUTH_FILE": made.registry.auth_file}
    return "\n".join(
        f"  export {name}={shlex.quote(str(file))}" for name, file in files.items() if file
    )


def _way_to_the_command() -> str:
    """After `make up`, the command is only in a virtual environment."""
    if shutil.which("lading"):
        return ""
    return f"  export PATH={shlex.quote(sysconfig.get_path('scripts'))}:$PATH\n"
