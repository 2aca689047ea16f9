"""`lading up`: a whole cluster in this process, until Ctrl-C."""

import asyncio
import shlex
import shutil
import sysconfig
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import click

from lading.cli import connection, options, output, process, running
from lading.cli.dashboard_plans import SetPlans
from lading.cli.feature_gates import feature_gates_option
from lading.cli.prepull.settings import prepull_image_option
from lading.kernel.errors import Malformed
from lading.kernel.feature_gates import Gates
from lading.kernel.platforms import Platform
from lading.observability import logs
from lading.prepull.types import DefaultImage, PrePullSettings
from lading.servers.registry.core import DEFAULT_LIMITS
from lading.servers.registry.usage import GIB
from lading.standalone import cluster, first_set, registry, status_pages
from lading.standalone.cluster import ClusterOptions, StandaloneCluster
from lading.standalone.node import DEFAULT_CAPACITY_BYTES, NodeDescription
from lading.standalone.registry import RegistrySettings
from lading.web import serving
from lading.web.pruning_plan import PlanReader
from lading.web.serving import ServedDashboard
from lading.wiring import runtime_handlers
from lading.wiring.clock import system_clock
from lading.wiring.live_progress import LiveProgress

_EVERY_NODE = ""


def _capacities(_context: object, _option: object, texts: tuple[str, ...]) -> dict[str, int]:
    """Bytes by node; those of every other node under the empty name."""
    found = {}
    for text in texts:
        node, _, amount = text.rpartition("=")
        try:
            found[node] = options.size(amount)
        except Malformed as error:
            raise click.BadParameter(str(error)) from error
    return found


def _size_option(name: str, default_bytes: int, text: str) -> options.Decorator:
    return click.option(
        name,
        metavar="SIZE",
        callback=options.meaning(options.size),
        default=f"{default_bytes // GIB}Gi",
        show_default=True,
        help=text,
    )


@click.command(name="up")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    default=connection.DEFAULT_DATA,
    show_default=True,
    help="The data directory; a later start continues from it.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="The number of nodes.",
)
@click.option(
    "--node-capacity",
    "capacities",
    metavar="[NODE=]SIZE",
    multiple=True,
    callback=_capacities,
    help="How much each node may store, such as 10Gi, or one NODE; may be given several times."
    f"  [default: {DEFAULT_CAPACITY_BYTES // GIB}Gi]",
)
@click.option(
    "--runtime-config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="TOML with the runtime handlers of the nodes and their guest platforms.",
)
@click.option(
    "--api-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the API server; 0 takes a free port.",
)
@click.option(
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the dashboard; 0 takes a free port.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of /metrics, /healthz and /readyz; 0 takes a free port.",
)
@click.option(
    "--registry-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the registry; 0 takes the port of the last start, or a free port.",
)
@click.option(
    "--registry-name",
    "registry_names",
    multiple=True,
    help="Another name by which clients reach the registry; may be given several times.",
)
@click.option(
    "--registry-auth",
    is_flag=True,
    help="Require a password for the registry, for a machine that several people share.",
)
@_size_option(
    "--registry-quota", DEFAULT_LIMITS.store_bytes_max, "The most bytes that the registry stores."
)
@_size_option("--registry-blob-max", DEFAULT_LIMITS.blob_bytes_max, "The most bytes of one blob.")
@prepull_image_option
@feature_gates_option()
@options.log_level_option(default="warning")
def command(
    data: Path,
    nodes: int,
    capacities: Mapping[str, int],
    runtime_config: Path | None,
    api_port: int,
    dashboard_port: int,
    metrics_port: int,
    registry_port: int,
    registry_names: tuple[str, ...],
    registry_auth: bool,
    registry_quota: int,
    registry_blob_max: int,
    images: tuple[DefaultImage, ...],
    gates: Gates,
    log_level: str,
) -> None:
    """Run an API server, a registry, nodes and the controllers until Ctrl-C."""
    logs.configure(logs.LogFormat.CONSOLE, log_level)
    guests = runtime_handlers.handlers(runtime_config) if runtime_config else {}
    wanted = ClusterOptions(
        data=data,
        nodes=_nodes(nodes, capacities, guests),
        api_port=api_port,
        registry=RegistrySettings(
            port=registry_port,
            names=registry_names,
            limits=replace(
                DEFAULT_LIMITS, blob_bytes_max=registry_blob_max, store_bytes_max=registry_quota
            ),
            with_password=registry_auth,
        ),
        gates=gates,
        prepull=PrePullSettings(images=images),
    )
    running.run(_up(wanted, dashboard_port=dashboard_port, metrics_port=metrics_port))


def _nodes(
    count: int, capacities: Mapping[str, int], guests: Mapping[str, Platform | None]
) -> tuple[NodeDescription, ...]:
    names = [f"node-{number}" for number in range(1, count + 1)]
    for unknown in sorted(capacities.keys() - {*names, _EVERY_NODE}):
        raise click.BadParameter(
            f"there is no {unknown!r}, only {output.names(names)}", param_hint="--node-capacity"
        )
    every = capacities.get(_EVERY_NODE, DEFAULT_CAPACITY_BYTES)
    return tuple(
        NodeDescription(name=name, guests=guests, capacity_bytes=capacities.get(name, every))
        for name in names
    )


async def _up(wanted: ClusterOptions, *, dashboard_port: int, metrics_port: int) -> None:
    async with cluster.open_cluster(wanted, system_clock()) as made:
        await _warn_of_a_moved_registry(made)
        await first_set.write(made, wanted.data)
        async with (
            _dashboard(made, wanted, dashboard_port) as dashboard,
            status_pages.serve(made, port=metrics_port) as metrics_url,
        ):
            shown = welcome(made, wanted.data, dashboard.url, metrics_url)
            await process.until_signalled(_run(made, dashboard, shown))
        click.echo("Stopping; `lading up` continues from here.")


async def _warn_of_a_moved_registry(made: StandaloneCluster) -> None:
    """At every start until no object names an address where nothing is served any longer."""
    for host in made.registry.former_hosts:
        names = await registry.left_behind(made.kube, host)
        if names:
            objects = "1 object names" if len(names) == 1 else f"{len(names)} objects name"
            output.sentence(
                f"Warning: the registry moved from {host} to {made.registry.host}, and {objects}"
                f" images at {host}, where nothing is served: {output.names(names)}. Change them to"
                f" {made.registry.host}, or start with --registry-port {host.rpartition(':')[2]}.",
                err=True,
            )


def _dashboard(
    made: StandaloneCluster, wanted: ClusterOptions, port: int
) -> AbstractAsyncContextManager[ServedDashboard]:
    """It plans with the gates and the registry of this cluster, and shows the last pruning Job."""
    return serving.opened(
        made.kube,
        system_clock(),
        port=port,
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
    """The welcome is printed when Ctrl-C already works: a reader may press it at once."""
    click.echo(shown)
    async with asyncio.TaskGroup() as group:
        group.create_task(made.run())
        group.create_task(dashboard.run())


def welcome(made: StandaloneCluster, data: Path, dashboard_url: str, metrics_url: str) -> str:
    """Every line below `In another terminal` can be pasted there as it is."""
    nodes = "\n".join(f"  {one.description.name:<12} {one.endpoint}" for one in made.nodes)
    a_set = shlex.quote(str(data / first_set.SET_FILE))
    an_image = shlex.quote(str(data / first_set.IMAGE_FILE))
    return f"""\
API server    {made.api.url}
Registry      {made.registry_url}{_password_note(made)}
Lading image  {made.own_image}
Dashboard     {dashboard_url}
Metrics       {metrics_url}/metrics, and of node-1 {metrics_url}/nodes/node-1/metrics
Nodes, each with a container runtime on a socket:
{nodes}

In another terminal, to see three small images come to every node:
{_way_to_the_command()}{_exports(made)}
  lading get nodes
  lading pin plan -f {a_set}
  lading apply -f {a_set}
  lading pin status -w
To see a pod on every node hold one of them:
  lading apply -f {an_image}
  lading prepull status -w
To list the images of one node:
  lading image ls -r {shlex.quote(made.nodes[0].endpoint)}
To look for what is wrong:
  lading doctor
kubectl, crictl and skopeo work, too. To bring an image of your own into the registry:
skopeo copy --dest-tls-verify=false docker://IMAGE docker://{made.registry_host}/NAME:TAG
Ctrl-C stops it; everything is kept."""


def _password_note(made: StandaloneCluster) -> str:
    file = made.registry.auth_file
    return f", with the password in {file}" if file else ""


def _exports(made: StandaloneCluster) -> str:
    """The password by its file: other users of the machine see the arguments of a process."""
    files = {"KUBECONFIG": made.api.kubeconfig, "REGISTRY_AUTH_FILE": made.registry.auth_file}
    return "\n".join(
        f"  export {name}={shlex.quote(str(file))}" for name, file in files.items() if file
    )


def _way_to_the_command() -> str:
    """After `make up` the command is in a virtual environment only."""
    if shutil.which("lading"):
        return ""
    return f"  export PATH={shlex.quote(sysconfig.get_path('scripts'))}:$PATH\n"
