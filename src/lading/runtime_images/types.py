"""The types of this feature: an image on a node, what is observed, and what is decided.

The runtime lists an image by the pair of its ID and the runtime handler it was pulled for. The
empty handler is the default one and stands for everything there was before handlers mattered.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from lading.ports.cri import Image, ImageSpec


class LocalImageId(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """An image that is on the node. `kernel.images.ImageKey` is one that is wanted there."""

    image_id: str
    runtime_handler: str = ""

    @property
    def spec(self) -> ImageSpec:
        return ImageSpec(image=self.image_id, runtime_handler=self.runtime_handler)

    def __str__(self) -> str:
        handler = f" for runtime handler {self.runtime_handler}" if self.runtime_handler else ""
        return f"{self.image_id}{handler}"


def local_id(image: Image) -> LocalImageId:
    return LocalImageId(image_id=image.id, runtime_handler=image.runtime_handler)


class ImageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """When an image was first detected and last used, as the kubelet records it."""

    first_detected: datetime
    last_used: datetime | None = None

    def after(self, *, is_used: bool, now: datetime) -> "ImageRecord":
        """A time later than now was recorded by a clock that has been set back since."""
        last_used = now if is_used else self.last_used
        return ImageRecord(
            first_detected=min(self.first_detected, now),
            last_used=last_used and min(last_used, now),
        )


class ImageRecords(msgspec.Struct, frozen=True, kw_only=True):
    """What earlier observations recorded; CRI itself knows no ages."""

    observed_since: datetime
    """Since then, no gap between two observations was too long."""
    observed_at: datetime
    by_image: Mapping[LocalImageId, ImageRecord] = {}

    def age(self, image: LocalImageId, now: datetime) -> timedelta:
        return now - self.by_image[image].first_detected

    def unused_for(self, image: LocalImageId, now: datetime) -> timedelta:
        """Since the image was last used, as far as the node was observed.

        A time without observations proves nothing: a node that was switched off must not start
        with images that all look old.
        """
        record = self.by_image[image]
        return now - max(record.last_used or record.first_detected, self.observed_since)


class DigestPull(msgspec.Struct, frozen=True, kw_only=True):
    """An image that was pulled by digest for a handler: the runtime chooses for the host only."""

    reference: str
    runtime_handler: str
    platform: str
    pulled: str
    """`repository@digest`: what pods of that runtime class must name."""


class ImageHandlers(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime handlers that an image serves."""

    listed: str | None
    """The handler that the runtime keeps it for; None when all its names are pulls by digest."""
    by_digest: tuple[str, ...] = ()
    """The handlers for which it was pulled by digest, sorted."""

    @property
    def all(self) -> frozenset[str]:
        return frozenset(self.by_digest) | ({self.listed} if self.listed is not None else set())


class SavedImageState(msgspec.Struct, frozen=True, kw_only=True):
    """What must survive a restart."""

    records: ImageRecords | None = None
    digest_pulls: tuple[DigestPull, ...] = ()
