"""`lading dashboard`: a page on this machine that shows the cluster, until Ctrl-C.

The page also plans PinnedImageSets, as `lading pin plan` does: those in the files of `-f`, which
are read each time, or in files that a user drops on the page.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path

import click

from lading.adapters.kube.client import KubeClient
from lading.cli import connection, documents, error_messages, options, running, validate
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource, UnreadableDocument
from lading.cli.pin import plan_report, sets
from lading.kernel import feature_gates
from lading.kernel.feature_gates import Gates
from lading.pinned_images.node.types import PinSettings
from lading.web import serving
from lading.web.details import NotPlanned
from lading.web.pruning_plan import PlanReader
from lading.web.serving import ServedDashboard
from lading.web.views.pins import PlannedSets
from lading.wiring import cluster_preview, clusters
from lading.wiring.clock import system_clock
from lading.wiring.gates import GATES
from lading.wiring.live_progress import LiveProgress


@click.command(name="dashboard")
@options.port_option("--port", help="The port of the page on 127.0.0.1; 0 takes a free port.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The plan of a prune run to show: a file of `lading prune images --save-plan`.",
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
            await running.until_signalled(_run(served))


async def _run(served: ServedDashboard) -> None:
    """Prints the URL only now, when Ctrl-C already works."""
    click.echo(f"Dashboard  {served.url}")
    click.echo("Open it in a browser on this machine; it works once. Ctrl-C stops it.")
    await served.run()


class SetPlans:
    def __init__(
        self,
        client: KubeClient,
        files: tuple[str, ...] = (),
        *,
        gates: Gates | None = None,
        auth_file: Path | None = None,
        journal: Path = sets.HOST_STATE_FOLDER / "resolutions.jsonl",
    ) -> None:
        """Uses the credentials of this machine and of the auth file for registries."""
        self._client = client
        self._files = files
        self._gates = feature_gates.defaults(GATES) if gates is None else gates
        self._auth_file = auth_file
        self._journal = journal

    async def of_files(self) -> PlannedSets | None:
        if not self._files:
            return None
        reading = asyncio.to_thread(documents.read, self._files)
        return await self._planned(self._files, reading)

    async def of_texts(self, texts: Mapping[str, str]) -> PlannedSets:
        return await self._planned(tuple(texts), asyncio.to_thread(_objects, texts))

    async def _planned(
        self, files: tuple[str, ...], reading: Awaitable[list[ManifestSource]]
    ) -> PlannedSets:
        try:
            sources = await reading
            planned = sets.planned_of(await _valid(sets.plannable(sources)))
            previews = await cluster_preview.previews(
                self._client,
                planned,
                system_clock(),
                journal=self._journal,
                gates=self._gates,
                settings=PinSettings(),
                auth_file=self._auth_file,
            )
        except NotPlanned:
            raise
        except click.ClickException as error:
            raise NotPlanned(error.format_message()) from error
        except Exception as error:
            text = error_messages.message(error)
            if text is None:
                raise
            raise NotPlanned(text) from error
        names = [one.metadata.name for one in planned.sets]
        return PlannedSets(
            files=files,
            previews=previews,
            complaints=plan_report.complaints(previews, names),
            notes=sets.left_out(sources),
        )


async def _valid(sources: list[ManifestSource]) -> list[ManifestSource]:
    problems = [str(one) async for one in validate.problems(sources)]
    if problems:
        raise NotPlanned("\n".join(problems))
    return sources


def _objects(texts: Mapping[str, str]) -> list[ManifestSource]:
    found = [source for name, text in texts.items() for source in documents.objects(name, text)]
    if not found:
        raise UnreadableDocument(f"{', '.join(texts)}: there is no object in it")
    return found
