"""The work of `lading up`: runs the cluster, and prints what to do with it."""

import asyncio
import shlex
import shutil
import sysconfig
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import click

from lading.cli import output, signals
from lading.cli.dashboard_plans import SetPlans
from lading.kernel.platforms import Platform
from lading.standalone import cluster, first_set, registry, status_pages
from lading.standalone.cluster import ClusterOptions, StandaloneCluster
from lading.standalone.defaults import NODE_CAPACITY_BYTES
from lading.standalone.node import NodeDescription
from lading.web import serving
from lading.web.pruning_plan import PlanReader
from lading.web.serving import ServedDashboard
from lading.wiring.clock import system_clock
from lading.wiring.live_progress import LiveProgress

_EVERY_NODE = ""


def nodes(
    count: int, capacities: Mapping[str, int], guests: Mapping[str, Platform | None]
) -> tuple[NodeDescription, ...]:
    names = [f"node-{number}" for number in range(1, count + 1)]
    for unknown in sorted(capacities.keys() - {*names, _EVERY_NODE}):
        raise click.BadParameter(
            f"there is no node {unknown!r}; the nodes are {output.names(names)}",
            param_hint="--node-capacity",
        )
    every = capacities.get(_EVERY_NODE, NODE_CAPACITY_BYTES)
    return tuple(
        NodeDescription(name=name, guests=guests, capacity_bytes=capacities.get(name, every))
        for name in names
    )


async def up(wanted: ClusterOptions, *, dashboard_port: int, metrics_port: int) -> None:
    async with cluster.open_cluster(wanted, system_clock()) as made:
        await _warn_of_a_moved_registry(made)
        await first_set.write(made, wanted.data)
        async with (
            _dashboard(made, wanted, dashboard_port) as dashboard,
            status_pages.serve(made, port=metrics_port) as metrics_url,
        ):
            shown = welcome(made, wanted.data, dashboard.url, metrics_url)
            await signals.until_signalled(_run(made, dashboard, shown))
        click.echo("Stopping. All data is kept: the next `lading up` continues with it.")


async def _warn_of_a_moved_registry(made: StandaloneCluster) -> None:
    """At every start until no object names an address where nothing is served any longer."""
    for host in made.registry.former_hosts:
        names = await registry.left_behind(made.kube, host)
        if names:
            objects = "1 object names" if len(names) == 1 else f"{len(names)} objects name"
            output.sentence(
                f"Warning: the address of the registry changed from {host} to {made.registry.host}."
                f" {objects} images at the old address: {output.names(names)}. Change them to"
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
    shown_nodes = "\n".join(f"  {one.description.name:<12} {one.endpoint}" for one in made.nodes)
    a_set = shlex.quote(str(data / first_set.SET_FILE))
    an_image = shlex.quote(str(data / first_set.IMAGE_FILE))
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
