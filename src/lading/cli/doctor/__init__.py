"""`lading doctor`: checks a cluster and the runtime of this machine, and says what to do.

It changes nothing. A check is skipped, and named, if its cluster or runtime is missing.
"""

import click

from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.doctor import cluster_checks, findings, node_checks
from lading.cli.error_messages import ExitCode
from lading.cli.output import Format


@click.command(name="doctor")
@click.option(
    "--runtime-endpoint",
    "-r",
    envvar="CONTAINER_RUNTIME_ENDPOINT",
    default="",
    metavar="SOCKET",
    help="Socket of the container runtime of this machine, unix:///...",
)
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, runtime_endpoint: str, form: Format) -> None:
    """Check the cluster, this node and the registries, and show what to do.

    It changes nothing. The exit code is 1 if a check failed.
    """
    running.run(_examine(target, runtime_endpoint, form))


async def _examine(target: Target, endpoint: str, form: Format) -> None:
    found = [*await cluster_checks.examine(target), *await node_checks.examine(endpoint)]
    findings.show(found, form)
    if findings.any_failed(found):
        raise click.exceptions.Exit(ExitCode.FAILED)
