"""Objects in files that decide what nodes pin, judged as an API server would.

For commands that do not send them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.api.node import RUNTIME_CLASSES, RuntimeClass
from lading.cli import connection, documents, output, validate
from lading.cli.documents import ManifestSource, UnreadableDocument

if TYPE_CHECKING:
    from lading.wiring.cluster_preview import Planned

HOST_STATE_FOLDER = connection.DEFAULT_DATA / "host"
_PLANNED_KINDS = (PINNED_IMAGE_SETS.kind, MACHINE_CONFIG_POOLS.kind, RUNTIME_CLASSES.kind)


async def sets_in(files: Sequence[str]) -> list[PinnedImageSet]:
    """The PinnedImageSets in the files; anything else, and a set that is not valid, is refused."""
    sources = documents.read(files)
    for source in sources:
        if source.kind != PINNED_IMAGE_SETS.kind:
            raise _unexpected(source)
    await validate.require_valid(sources)
    return [msgspec.convert(source.content, PinnedImageSet) for source in sources]


async def planned_in(files: Sequence[str]) -> "Planned":
    """The sets in the files with their pools and runtime classes; other kinds are left out."""
    sources = documents.read(files)
    for note in left_out(sources):
        output.sentence(f"Note: {note}", err=True)
    sources = plannable(sources)
    await validate.require_valid(sources)
    return planned_of(sources)


def left_out(sources: Sequence[ManifestSource]) -> list[str]:
    """A sentence for each object that no plan of sets is about."""
    return [
        f"{source.file}: no plan is made for kind {source.kind}"
        for source in sources
        if source.kind not in _PLANNED_KINDS
    ]


def plannable(sources: Sequence[ManifestSource]) -> list[ManifestSource]:
    """The others; without a set among them there is nothing to plan."""
    files = ", ".join(dict.fromkeys(source.file for source in sources))
    found = [source for source in sources if source.kind in _PLANNED_KINDS]
    if not any(source.kind == PINNED_IMAGE_SETS.kind for source in found):
        raise UnreadableDocument(f"{files}: there is no {PINNED_IMAGE_SETS.kind} in it")
    return found


def planned_of(sources: Sequence[ManifestSource]) -> "Planned":
    """Of objects that are valid."""
    from lading.wiring.cluster_preview import Planned  # slow to load, and --help needs none of it

    return Planned(
        sets=[
            msgspec.convert(one.content, PinnedImageSet)
            for one in sources
            if one.kind == PINNED_IMAGE_SETS.kind
        ],
        pools=[
            msgspec.convert(one.content, MachineConfigPool)
            for one in sources
            if one.kind == MACHINE_CONFIG_POOLS.kind
        ],
        runtime_classes=[
            msgspec.convert(one.content, RuntimeClass)
            for one in sources
            if one.kind == RUNTIME_CLASSES.kind
        ],
    )


def _unexpected(source: ManifestSource) -> UnreadableDocument:
    return UnreadableDocument(
        f"{source.file}:{source.line(())}: expected a {PINNED_IMAGE_SETS.kind}, found {source.kind}"
    )
