"""Reads PinnedImageSets, pools and runtime classes from files, and validates them.

For commands that do not send the objects to a cluster.
"""

from collections.abc import Sequence

import click
import msgspec

from lading.api.core import RUNTIME_CLASSES, RuntimeClass
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.cli import connection, documents, output, validate
from lading.cli.documents import ManifestSource, UnreadableDocument
from lading.kernel.objects import Key
from lading.wiring.cluster_preview import Planned

HOST_STATE_FOLDER = connection.DEFAULT_DATA / "host"
_PLANNED_KINDS = (PINNED_IMAGE_SETS.kind, MACHINE_CONFIG_POOLS.kind, RUNTIME_CLASSES.kind)


def _secret_key(text: str) -> Key:
    namespace, _, name = text.partition("/")
    if not (namespace and name) or "/" in name:
        raise click.BadParameter(f"{text!r} does not have the form NAMESPACE/NAME")
    return Key(namespace, name)


pull_secret_option = click.option(
    "--pull-secret",
    "secrets",
    multiple=True,
    metavar="NAMESPACE/NAME",
    callback=lambda _context, _option, texts: tuple(_secret_key(text) for text in texts),
    help="A Secret of the cluster with credentials for the registries; may be repeated.",
)


async def sets_in(files: Sequence[str]) -> list[PinnedImageSet]:
    """The PinnedImageSets in the files. Other kinds and invalid sets are refused."""
    sources = documents.read(files)
    for source in sources:
        if source.kind != PINNED_IMAGE_SETS.kind:
            raise _unexpected(source)
    await validate.require_valid(sources)
    return [msgspec.convert(source.content, PinnedImageSet) for source in sources]


async def planned_in(files: Sequence[str]) -> Planned:
    """The sets, pools and runtime classes in the files; other kinds are left out."""
    sources = documents.read(files)
    for note in left_out(sources):
        output.sentence(f"Note: {note}", err=True)
    sources = plannable(sources)
    await validate.require_valid(sources)
    return planned_of(sources)


def left_out(sources: Sequence[ManifestSource]) -> list[str]:
    """A sentence for each object that has no part in a plan."""
    return [
        f"{source.file}: no plan is made for kind {source.kind}"
        for source in sources
        if source.kind not in _PLANNED_KINDS
    ]


def plannable(sources: Sequence[ManifestSource]) -> list[ManifestSource]:
    """The objects that have a part in a plan; at least one set."""
    files = ", ".join(dict.fromkeys(source.file for source in sources))
    found = [source for source in sources if source.kind in _PLANNED_KINDS]
    if not any(source.kind == PINNED_IMAGE_SETS.kind for source in found):
        raise UnreadableDocument(f"{files}: there is no {PINNED_IMAGE_SETS.kind} in it")
    return found


def planned_of(sources: Sequence[ManifestSource]) -> Planned:
    """The objects must be valid."""
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
