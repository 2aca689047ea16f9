"""The input of garbage collection, and its verdicts. Frozen data only."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.images import Layer
from lading.kernel.planning import Plan
from lading.ports.cri import Container, Image
from lading.ports.node import Space
from lading.runtime_images.types import (
    DigestPull,
    ImageHandlers,
    ImageRecord,
    ImageRecords,
    LocalImageId,
    local_id,
)

UNOBSERVED_MAX = timedelta(days=1)
"""Without a maximum age, a daily observation counts as uninterrupted."""
GC_LANE = "images"
"""One lane: the records are written after the images are removed, when there is space."""


class GcPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """When images are removed; the defaults are the kubelet's."""

    high_threshold_percent: int = 85
    low_threshold_percent: int = 80
    minimum_age: timedelta = timedelta(minutes=2)
    maximum_age: timedelta | None = None
    everything_unused: bool = False
    """Also below the low threshold, as the kubelet does under disk pressure."""
    only_handler: str | None = None
    period: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        low, high = self.low_threshold_percent, self.high_threshold_percent
        if not 0 <= low <= high <= 100:
            reason = "expected 0 <= low <= high <= 100"
            raise Malformed(what="pair of thresholds", text=f"{low}, {high}", reason=reason)


class ObservedImages(msgspec.Struct, frozen=True, kw_only=True):
    images: tuple[Image, ...]
    containers: tuple[Container, ...] = ()
    sandbox_image: str = ""
    """Empty when the runtime does not report it."""
    space: Space | None = None
    """Of the fullest file system with images; None if it is unknown."""
    layers: Mapping[LocalImageId, tuple[Layer, ...]] = {}
    """Only of images for which the runtime reports layers."""
    records: ImageRecords | None = None
    digest_pulls: tuple[DigestPull, ...] = ()


class GcDecision(StrEnum):
    KEEP = "keep"
    REMOVE = "remove"


class GcReason(StrEnum):
    PINNED = "Pinned"
    """Kept: it is pinned."""
    SANDBOX_IMAGE = "SandboxImage"
    """Kept: it is the sandbox image."""
    MAY_BE_SANDBOX_IMAGE = "MayBeSandboxImage"
    """Kept: its name is `pause`, and the runtime does not report its sandbox image."""
    IN_USE = "InUse"
    """Kept: a container runs or mounts it."""
    USE_UNKNOWN = "UseUnknown"
    """Kept: the image of a container is unknown, so it may be this one."""
    OTHER_RUNTIME_CLASS = "OtherRuntimeClass"
    """Kept: the command asked for one runtime handler, and the image is not for that handler alone.
    """
    TOO_YOUNG = "TooYoung"
    """Kept: it was first detected less than the minimum age ago."""
    SPACE_SUFFICES = "SpaceSuffices"
    """Kept: it is unused, but the disk is below the thresholds."""
    SPACE_UNKNOWN = "SpaceUnknown"
    """Kept: it is unused, but the use of the disk is unknown."""
    DEFAULT_HANDLER = "DefaultHandler"
    """Kept: it was not pulled for a runtime handler, or it is also the host's image."""
    UNUSED_TOO_LONG = "UnusedTooLong"
    """Removed: it was unused for longer than the maximum age."""
    MAKES_ROOM = "MakesRoom"
    """Removed: the disk is above the high threshold, and it is the least recently used."""
    UNUSED = "Unused"
    """Removed: it is unused, and the command asked for all unused images."""
    LEFT_BY_GATE = "LeftByGate"
    """Removed: it was pulled for a runtime handler, and the feature gate is off."""


class ImageVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about one image, and its reason."""

    image: Image
    decision: GcDecision
    reason: GcReason
    message: str
    frees_bytes: int = 0

    @property
    def local_id(self) -> LocalImageId:
        return local_id(self.image)


class RemoveImage(msgspec.Struct, frozen=True, kw_only=True):
    """Removes one image, if it is still unpinned and unused."""

    image: Image
    because: str
    lane: Hashable = GC_LANE

    @property
    def local_id(self) -> LocalImageId:
        return local_id(self.image)


class WriteImageRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Saves this observation, from which the next one computes ages."""

    records: ImageRecords
    because: str = "the images were observed"
    lane: Hashable = GC_LANE


class GcPlan(Plan, frozen=True, kw_only=True):
    """A verdict for every image, removals first and in their order."""

    planned_at: datetime
    policy: GcPolicy
    verdicts: tuple[ImageVerdict, ...]
    handlers: Mapping[LocalImageId, ImageHandlers]
    wanted_bytes: int = 0
    used_percent: int | None = None
    """Of the fullest filesystem that holds images."""
    first_old_enough_at: datetime | None = None
    """When the first image that is too young can be removed."""
    space_is_known: bool = True
    sandbox_image_is_known: bool = True

    @property
    def removals(self) -> tuple[RemoveImage, ...]:
        return tuple(action for action in self.actions if isinstance(action, RemoveImage))

    @property
    def freed_bytes(self) -> int:
        return sum(verdict.frees_bytes for verdict in self.verdicts)


def records_after(
    before: ImageRecords | None,
    *,
    present: Iterable[LocalImageId],
    in_use: Collection[LocalImageId],
    policy: GcPolicy,
    now: datetime,
) -> ImageRecords:
    """The records after one more observation; those of images that are gone are dropped."""
    known = {} if before is None else before.by_image
    is_unbroken = before is not None and _is_unbroken(now - before.observed_at, policy)
    return ImageRecords(
        observed_since=before.observed_since if before and is_unbroken else now,
        observed_at=now,
        by_image={
            image: known.get(image, ImageRecord(first_detected=now)).after(
                is_used=image in in_use, now=now
            )
            for image in present
        },
    )


def _is_unbroken(gap: timedelta, policy: GcPolicy) -> bool:
    """A longer gap than half the maximum age, or a clock that was set back, could hide a use."""
    if gap < timedelta(0):
        return False
    maximum_age = policy.maximum_age
    return gap <= (UNOBSERVED_MAX if maximum_age is None else maximum_age / 2)
