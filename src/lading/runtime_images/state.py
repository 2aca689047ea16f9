"""The records of images across restarts, as one JSON file.

A file that cannot be read counts as empty: images then look young, never old.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from lading.kernel import references
from lading.kernel.errors import UNREADABLE
from lading.kernel.values import replace
from lading.ports.node import SharedStateFile
from lading.runtime_images.types import (
    DigestPull,
    ImageRecord,
    ImageRecords,
    LocalImageId,
    SavedImageState,
)

DIGEST_PULLS_MAX = 4096  # far above the images of a node; the oldest are dropped first

_Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    image_id: str
    runtime_handler: str
    first_detected: _Instant
    last_used: _Instant | None


class _Records(msgspec.Struct, frozen=True, kw_only=True):
    observed_since: _Instant
    observed_at: _Instant
    images: tuple[_Record, ...]


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    version: Literal[1] = 1
    records: _Records | None = None
    digest_pulls: tuple[DigestPull, ...] = ()


_decoder = msgspec.json.Decoder(_Document)


class ImageStateFile:
    """Only one task of one process at a time changes the file, and replaces it whole."""

    def __init__(self, file: SharedStateFile) -> None:
        self._file = file
        self._unsaved: ImageRecords | None = None

    async def load(self) -> SavedImageState:
        """Records that could not be written count too: otherwise all images would look young."""
        found = await self._read()
        return replace(found, records=self._unsaved or found.records)

    async def _read(self) -> SavedImageState:
        content = await self._file.read()
        try:
            return SavedImageState() if content is None else _decode(content)
        except UNREADABLE:
            return SavedImageState()

    async def save_records(self, records: ImageRecords) -> None:
        """If it fails, as on a full disk, this process keeps the records in memory."""
        self._unsaved = records
        await self._change(lambda state: replace(state, records=records))
        self._unsaved = None

    async def save_digest_pull(self, pull: DigestPull) -> None:
        def with_newest(state: SavedImageState) -> SavedImageState:
            others = tuple(other for other in state.digest_pulls if other != pull)
            return replace(state, digest_pulls=(*others, pull)[-DIGEST_PULLS_MAX:])

        await self._change(with_newest)

    async def forget_digest_pulls(self, names: Collection[str]) -> None:
        """After images were removed: the next pull of such a name may be for the host."""

        def without(state: SavedImageState) -> SavedImageState:
            kept = tuple(each for each in state.digest_pulls if each.pulled not in names)
            return replace(state, digest_pulls=kept)

        await self._change(without)

    async def _change(self, change: Callable[[SavedImageState], SavedImageState]) -> None:
        async with self._file.locked():
            before = await self._read()
            after = change(before)
            if after != before:
                await self._file.replace(_encode(after))


def newest_digest_pull(
    digest_pulls: Sequence[DigestPull], *, reference: str, runtime_handler: str
) -> DigestPull | None:
    """Earlier pulls of the same reference are of images that the tag no longer means."""
    wanted = (reference, runtime_handler)
    matching = (
        each for each in reversed(digest_pulls) if (each.reference, each.runtime_handler) == wanted
    )
    return next(matching, None)


def _encode(state: SavedImageState) -> bytes:
    records = None if state.records is None else _to_file(state.records)
    return msgspec.json.encode(_Document(records=records, digest_pulls=state.digest_pulls))


def _decode(content: bytes) -> SavedImageState:
    document = _decoder.decode(content)
    records = None if document.records is None else _from_file(document.records)
    # Pods and runtimes get this name, so a name in another repository is ignored.
    pulls = tuple(
        one for one in document.digest_pulls if references.is_manifest_of(one.pulled, one.reference)
    )
    return SavedImageState(records=records, digest_pulls=pulls)


def _to_file(records: ImageRecords) -> _Records:
    return _Records(
        observed_since=records.observed_since,
        observed_at=records.observed_at,
        images=tuple(
            _Record(
                image_id=image.image_id,
                runtime_handler=image.runtime_handler,
                first_detected=record.first_detected,
                last_used=record.last_used,
            )
            for image, record in records.by_image.items()
        ),
    )


def _from_file(records: _Records) -> ImageRecords:
    return ImageRecords(
        observed_since=records.observed_since,
        observed_at=records.observed_at,
        by_image={
            LocalImageId(image_id=each.image_id, runtime_handler=each.runtime_handler): ImageRecord(
                first_detected=each.first_detected, last_used=each.last_used
            )
            for each in records.images
        },
    )
