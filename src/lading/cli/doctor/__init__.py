"""`lading doctor`: looks at a cluster and at the runtime of this machine, and says what to do.

It changes nothing. What there is no cluster or no runtime for is skipped, and named.
"""

from pathlib import Path

import click

from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.exit_codes import ExitCode
from lading.cli.output import Format


@click.command(name="doctor")
@click.option(
    "--runtime-endpoint",
    "-r",
    envvar="CONTAINER_RUNTIME_ENDPOINT",
    default="",
    metavar="ENDPOINT",
    help="Socket of the container runtime of this machine, unix:///...",
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write an archive for a bug report, without secrets.",
)
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, runtime_endpoint: str, bundle: Path | None, form: Format) -> None:
    """Check the cluster, this node and the registries, and show what to do.

    It changes nothing. The exit code is 1 if a check failed.
    """
    if bundle == Path():
        raise click.BadParameter("the name of the file is empty", param_hint="--bundle")
    running.run(_examine(target, runtime_endpoint, bundle, form))


async def _examine(target: Target, endpoint: str, bundle: Path | None, form: Format) -> None:
    # Slow to load, and `lading doctor --help` needs none of it.
    from lading.cli.doctor import archive, cluster_checks, findings, node_checks

    found = [*await cluster_checks.examine(target), *await node_checks.examine(endpoint)]
    findings.show(found, form)
    if bundle:
        content = await archive.content(target, found)
        archive.write(bundle, content)
        note = f"Wrote {bundle} with {', '.join(content)}. Read it before you send it."
        output.sentence(note, err=True)
    if findings.any_failed(found):
        raise click.exceptions.Exit(ExitCode.FAILED)
