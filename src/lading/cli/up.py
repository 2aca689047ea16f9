"""`lading up`: a whole cluster in this process, until Ctrl-C."""

import asyncio
import signal
from pathlib import Path

import click

from lading.adapters.clock import SystemClock
from lading.cli import connection
from lading.kernel import feature_gates
from lading.observability import logs
from lading.standalone import cluster
from lading.standalone.cluster import Options, StandaloneCluster
from lading.standalone.node import NodeDescription


@click.command(name="up")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    default=connection.DEFAULT_DATA,
    show_default=True,
    help="Where everything is kept; started again there, it goes on.",
)
@click.option("--nodes", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--api-port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
@click.option("--registry-port", type=click.IntRange(0, 65535), default=0, help="As --api-port.")
@click.option("--feature-gates", "gates", default="", help="Name=true,Other=false")
@click.option("--log-level", default="warning", show_default=True)
def command(
    data: Path, nodes: int, api_port: int, registry_port: int, gates: str, log_level: str
) -> None:
    """Run an API server, a registry, nodes and the controllers until Ctrl-C."""
    logs.configure(logs.LogFormat.CONSOLE, log_level)
    options = Options(
        data=data,
        nodes=tuple(NodeDescription(name=f"node-{number}") for number in range(1, nodes + 1)),
        api_port=api_port,
        registry_port=registry_port,
        gates=feature_gates.parse(gates),
    )
    connection.run(_up(options))


async def _up(options: Options) -> None:
    async with cluster.open_cluster(options, SystemClock()) as running:
        work = asyncio.create_task(running.run())
        stop = asyncio.create_task(_signalled())
        click.echo(_welcome(running))
        try:
            done, _ = await asyncio.wait((work, stop), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            click.echo("Stopping; `lading up` goes on from here.")
        finally:
            work.cancel()
            stop.cancel()
            await asyncio.gather(work, stop, return_exceptions=True)


async def _signalled() -> None:
    """Returns at the first Ctrl-C or termination."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()


def _welcome(running: StandaloneCluster) -> str:
    nodes = "\n".join(f"  {one.description.name:<12} {one.endpoint}" for one in running.nodes)
    host = running.registry_host
    return f"""\
API server    {running.api.url}
Registry      {running.registry_url}
Nodes, each with a container runtime on a socket:
{nodes}

In another terminal:
  export KUBECONFIG={running.api.kubeconfig}
  lading get nodes                         (kubectl works too)
  skopeo copy --dest-tls-verify=false docker://IMAGE docker://{host}/NAME:TAG
  lading apply -f set.yaml                 a PinnedImageSet with images by digest
  lading pin status                        how far the nodes are
Ctrl-C stops it; everything is kept."""
