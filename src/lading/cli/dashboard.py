"""`lading dashboard`: a page on this machine that shows the cluster, until Ctrl-C."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lading.cli import connection, options, running, signals
from lading.cli.connection import Target
from lading.wiring import clusters
from lading.wiring.clock import system_clock

if TYPE_CHECKING:
    from lading.web.serving import ServedDashboard


@click.command(name="dashboard")
@options.port_option("--port", help="The port of the page on 127.0.0.1; 0 takes a free port.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A file of `lading prune plan` to show; --contents of that command adds what is kept.",
)
@options.files_option(
    required=False, help="PinnedImageSets to plan: a file or a folder; may be repeated."
)
@connection.target_options
def command(target: Target, port: int, plan: Path | None, files: tuple[str, ...]) -> None:
    """Show the images of the cluster on a page in your browser, with your own rights.

    The page changes nothing. It opens only with the URL that the command prints. With -f it also
    shows what each node would pull for PinnedImageSets in files.
    """
    if "-" in files:
        raise click.UsageError("-f: expected a file or a folder, because it is read several times")
    running.run(_serve(target, port, plan, files))


async def _serve(target: Target, port: int, plan: Path | None, files: tuple[str, ...]) -> None:
    # Slow to load, and `lading dashboard --help` needs none of it.
    from lading.cli.dashboard_plans import SetPlans
    from lading.web import serving
    from lading.web.pruning_plan import PlanReader
    from lading.wiring.live_progress import LiveProgress

    async with target.open() as client:
        await clusters.require_credentials(client)
        async with serving.opened(
            client,
            system_clock(),
            port=port,
            cluster=target.found().server,
            plan=PlanReader(plan),
            planner=SetPlans(client, files),
            agents=LiveProgress(client),
        ) as served:
            await signals.until_signalled(_run(served))


async def _run(served: "ServedDashboard") -> None:
    """The URL is printed when Ctrl-C already works."""
    click.echo(f"Dashboard  {served.url}")
    click.echo("Open it in a browser on this machine; it works once. Ctrl-C stops it.")
    await served.run()
