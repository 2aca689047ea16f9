"""`lading dashboard`: a page on this machine that shows the cluster, until Ctrl-C."""

from pathlib import Path

import click

from lading.adapters.kube.client import KubeClient
from lading.cli import connection, options, process, running, sentences
from lading.cli.connection import Target
from lading.cli.pin import plan_report, sets
from lading.kernel import feature_gates
from lading.pinned_images.node.types import PinSettings
from lading.web import serving
from lading.web.details import NotPlanned
from lading.web.serving import ServedDashboard
from lading.web.views.pin_plan import PlannedSets
from lading.wiring import cluster_preview, clusters
from lading.wiring.clock import system_clock
from lading.wiring.features import GATES


@click.command(name="dashboard")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the page on 127.0.0.1; 0 takes a free port.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A file of `lading prune plan`, to look at.",
)
@options.files_option(required=False)
@connection.target_options
def command(target: Target, port: int, plan: Path | None, files: tuple[str, ...]) -> None:
    """Show the images of the cluster on a page in your browser, with your own rights.

    The page only reads. Only the URL that is printed opens it.
    """
    if "-" in files:
        raise click.UsageError("-f: expected a file or a folder, because it is read several times")
    running.run(_serve(target, port, plan, files))


async def _serve(target: Target, port: int, plan: Path | None, files: tuple[str, ...]) -> None:
    async with target.open() as client:
        await clusters.require_credentials(client)
        async with serving.opened(
            client,
            system_clock(),
            port=port,
            cluster=target.found().server,
            plan=plan,
            plan_sets=(lambda: _planned(client, files)) if files else None,
        ) as served:
            await process.until_signalled(_run(served))


async def _planned(client: KubeClient, files: tuple[str, ...]) -> PlannedSets:
    """As `lading pin plan` does without other options; the files are read anew each time."""
    try:
        planned = await sets.planned_in(files)
        previews = await cluster_preview.previews(
            client,
            planned,
            system_clock(),
            journal=sets.HOST_STATE_FOLDER / "resolutions.jsonl",
            gates=feature_gates.defaults(GATES),
            settings=PinSettings(),
        )
    except click.ClickException as error:
        raise NotPlanned(error.format_message()) from error
    except Exception as error:
        sentence = sentences.sentence(error)
        if sentence is None:
            raise
        raise NotPlanned(sentence) from error
    names = [one.metadata.name for one in planned.sets]
    complaints = plan_report.complaints(previews, names)
    return PlannedSets(files=files, previews=previews, complaints=complaints)


async def _run(served: ServedDashboard) -> None:
    """The URL is printed when Ctrl-C already works."""
    click.echo(f"Dashboard  {served.url}")
    click.echo("Open it in a browser on this machine. Ctrl-C stops it.")
    await served.run()
