"""The gate, the errors, and an image on a node with its records.

A runtime identifies an image by its ID and the runtime handler that it was pulled for. The empty
handler is the default one.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from lading.kernel.feature_gates import Gate
from lading.ports.cri import Image, ImageSpec

RUNTIME_CLASS_IN_IMAGE_CRI_API = Gate(
    name="RuntimeClassInImageCriApi",
    default=False,  # alpha upstream, and off
    off="no runtime handler is sent to the container runtime or shown",
)


class NoSuchImage(Exception):
    """The named image is not on the node for that handler."""

    def __init__(self, spec: ImageSpec) -> None:
        handler = f" for runtime handler {spec.runtime_handler}" if spec.runtime_handler else ""
        super().__init__(
            f"no such image {spec.image!r}{handler}; `lading image ls` lists the images"
        )


class EnsureError(Exception):
    """A person must correct something; a retry does not help."""


class UnknownRuntimeClass(EnsureError):
    """The RuntimeClass does not exist."""


class LocalImageId(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """An image on the node. `kernel.images.ImageKey` is an image that is wanted there."""

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
        """A time after now was recorded before the clock was set back."""
        last_used = now if is_used else self.last_used
        return ImageRecord(
            first_detected=min(self.first_detected, now),
            last_used=last_used and min(last_used, now),
        )


class ImageRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records of earlier observations; CRI has no ages."""

    observed_since: datetime
    """Since then no gap between two observations was too long."""
    observed_at: datetime
    by_image: Mapping[LocalImageId, ImageRecord] = {}

    def age(self, image: LocalImageId, now: datetime) -> timedelta:
        return now - self.by_image[image].first_detected

    def unused_for(self, image: LocalImageId, now: datetime) -> timedelta:
        """How long the image was observed to be unused.

        Time without observations does not count: on a node that was off, no image must look old.
        """
        record = self.by_image[image]
        return now - max(record.last_used or record.first_detected, self.observed_since)


class DigestPull(msgspec.Struct, frozen=True, kw_only=True):
    """An image that was pulled by digest for a handler, because the runtime ignores handlers."""

    reference: str
    runtime_handler: str
    platform: str
    pulled: str
    """`repository@digest`, which pods of that runtime class must name."""


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
    """The content of the state file."""

    records: ImageRecords | None = None
    digest_pulls: tuple[DigestPull, ...] = ()
