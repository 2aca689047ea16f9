"""What sets would mean for each node, for the dashboard: `lading pin plan` without other options.

Of the files of `-f`, read anew each time, or of files that were dropped on the page.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path

import click

from lading.adapters.kube.client import KubeClient
from lading.cli import documents, sentences, validate
from lading.cli.documents import ManifestSource, UnreadableDocument
from lading.cli.pin import plan_report, sets
from lading.kernel import feature_gates
from lading.kernel.feature_gates import Gates
from lading.pinned_images.node.types import PinSettings
from lading.web.details import NotPlanned
from lading.web.views.pin_plan import PlannedSets
from lading.wiring import cluster_preview
from lading.wiring.clock import system_clock
from lading.wiring.gates import GATES


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
        """Registries are asked with the credentials of this machine, and of the auth file."""
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
            sentence = sentences.sentence(error)
            if sentence is None:
                raise
            raise NotPlanned(sentence) from error
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
