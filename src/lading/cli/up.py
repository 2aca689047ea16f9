"""`lading up`: a whole cluster in this process, until Ctrl-C."""

from collections.abc import Mapping
from pathlib import Path

import click

from lading.cli import connection, options, running
from lading.cli.feature_gates import feature_gates_option
from lading.cli.prepull.settings import prepull_image_option
from lading.kernel.errors import Malformed
from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.prepull.types import DefaultImage, PrePullSettings
from lading.servers.registry.core import DEFAULT_LIMITS
from lading.servers.registry.usage import GIB
from lading.standalone.defaults import NODE_CAPACITY_BYTES


def _capacities(_context: object, _option: object, texts: tuple[str, ...]) -> dict[str, int]:
    """Bytes by node; those of every other node under the empty name."""
    found = {}
    for text in texts:
        node, equals, amount = text.rpartition("=")
        if equals and not node:
            raise click.BadParameter(f"{text!r} has no name of a node before the '='")
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
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    default=connection.DEFAULT_DATA,
    show_default=True,
    help="The folder for all data; a later start continues with it.",
)
@click.option(
    "--nodes",
    metavar="COUNT",
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
    show_default=f"{NODE_CAPACITY_BYTES // GIB}Gi",
    help="The size of the image disk of each node, or of one NODE; may be repeated.",
)
@click.option(
    "--runtime-config",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A TOML file with the runtime handlers of the nodes and their guest platforms.",
)
@options.port_option("--api-port", help="The port of the API server; 0 takes a free port.")
@options.port_option("--dashboard-port", help="The port of the dashboard; 0 takes a free port.")
@options.port_option(
    "--metrics-port", help="The port of /metrics, /healthz and /readyz; 0 takes a free port."
)
@options.port_option(
    "--registry-port",
    help="The port of the registry; 0 takes the port of the last start, or a free port.",
)
@click.option(
    "--registry-name",
    "registry_names",
    metavar="HOST",
    multiple=True,
    help="Another name by which clients reach the registry; may be repeated. Requests for other "
    "names are refused.",
)
@click.option(
    "--registry-auth",
    is_flag=True,
    help="Require a password for the registry, for a machine that several people share.",
)
@_size_option(
    "--registry-quota", DEFAULT_LIMITS.store_bytes_max, "The most bytes that the registry stores."
)
@_size_option(
    "--registry-blob-max",
    DEFAULT_LIMITS.blob_bytes_max,
    "The most bytes of one blob in the registry.",
)
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
    # Slow to load, and `lading up --help` needs none of it.
    from lading.cli import up_cluster
    from lading.observability import logs
    from lading.observability.log_format import LogFormat
    from lading.standalone.cluster import ClusterOptions
    from lading.standalone.registry import RegistrySettings
    from lading.wiring import runtime_handlers

    logs.configure(LogFormat.CONSOLE, log_level)
    guests = runtime_handlers.handlers(runtime_config) if runtime_config else {}
    wanted = ClusterOptions(
        data=data,
        nodes=up_cluster.nodes(nodes, capacities, guests),
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
    running.run(up_cluster.up(wanted, dashboard_port=dashboard_port, metrics_port=metrics_port))
