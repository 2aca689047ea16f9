"""PinnedImageSets in files, judged as an API server would, for commands that do not send them."""

from collections.abc import Sequence

import msgspec

from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.cli import connection, documents, validate
from lading.cli.documents import UnreadableDocument

HOST_STATE_FOLDER = connection.DEFAULT_DATA / "host"


async def sets_in(files: Sequence[str]) -> list[PinnedImageSet]:
    """The PinnedImageSets in the files; anything else, and a set that is not valid, is refused."""
    sources = documents.read(files)
    for source in sources:
        if source.kind != PINNED_IMAGE_SETS.kind:
            raise UnreadableDocument(
                f"{source.file}:{source.line(())}: expected a {PINNED_IMAGE_SETS.kind},"
                f" found {source.kind}"
            )
    await validate.require_valid(sources)
    return [msgspec.convert(source.content, PinnedImageSet) for source in sources]
