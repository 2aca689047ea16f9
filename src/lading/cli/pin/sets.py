"""PinnedImageSets in files, for the commands that work on a host without a cluster."""

from collections.abc import Sequence

import msgspec

from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.cli import connection, documents
from lading.cli.documents import UnreadableDocument

HOST_STATE_FOLDER = connection.DEFAULT_DATA / "host"


def sets_in(files: Sequence[str]) -> list[PinnedImageSet]:
    """The PinnedImageSets in the files; anything else is refused."""
    found = []
    for source in documents.read(files):
        where = f"{source.file}:{source.line(())}"
        if source.kind != PINNED_IMAGE_SETS.kind:
            raise UnreadableDocument(
                f"{where}: expected a {PINNED_IMAGE_SETS.kind}, found {source.kind}"
            )
        try:
            found.append(msgspec.convert(source.content, PinnedImageSet))
        except msgspec.ValidationError as error:
            raise UnreadableDocument(f"{where}: {error}") from error
    return found
