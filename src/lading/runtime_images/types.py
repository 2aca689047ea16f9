"""The words of this feature: the key of an image, what is observed, and what is decided.

An image on a node is named by the pair of its ID and the runtime handler it was pulled for. The
empty handler is the default one and stands for everything there was before handlers mattered.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.feature_gates import Gate
from lading.ports.cri import Container, Image, ImageSpec
from lading.ports.disk import Space

RUNTIME_CLASS_IN_IMAGE_CRI_API = Gate(
    name="RuntimeClassInImageCriApi",
    default=False,  # alpha upstream, and off
    off="no runtime handler is sent to the container runtime or shown",
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ImageKey:
    image_id: str
    runtime_handler: str = ""

    @property
    def spec(self) -> ImageSpec:
        return ImageSpec(image=self.image_id, runtime_handler=self.runtime_handler)

    def __str__(self) -> str:
        handler = f" for runtime handler {self.runtime_handler}" if self.runtime_handler else ""
        return f"{self.image_id}{handler}"


def key_of(image: Image) -> ImageKey:
    return ImageKey(image_id=image.id, runtime_handler=image.runtime_handler)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When images are collected; the defaults are the kubelet's."""

    high_threshold_percent: int = 85
    low_threshold_percent: int = 80
    minimum_age: timedelta = timedelta(minutes=2)
    maximum_age: timedelta | None = None
    everything_unused: bool = False
    """Goes on past the low threshold, as the kubelet does under disk pressure."""
    only_handler: str | None = None

    def __post_init__(self) -> None:
        low, high = self.low_threshold_percent, self.high_threshold_percent
        if not 0 <= low <= high <= 100:
            reason = "expected 0 <= low <= high <= 100"
            raise Malformed(what="pair of thresholds", text=f"{low}, {high}", reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    digest: Digest
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    first_detected: datetime
    last_used: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What earlier looks at the images taught us; CRI itself knows no ages."""

    watched_since: datetime
    looked_at: datetime
    ages: Mapping[ImageKey, Ages] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """An image that was pulled by digest, because the runtime chooses for the host only."""

    reference: str
    runtime_handler: str
    platform: str
    pulled: str
    """`repository@digest`: what pods of that runtime class must name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """For whom an image is on the node."""

    handler: str | None
    """Whom the runtime keeps it for; None when all its names are those of pulls by digest."""
    by_digest: tuple[str, ...] = ()
    """The handlers for which it was pulled by digest, sorted."""

    @property
    def handlers(self) -> frozenset[str]:
        return frozenset(self.by_digest) | ({self.handler} if self.handler is not None else set())


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is remembered across restarts."""

    memory: Memory | None = None
    resolutions: tuple[Resolution, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    images: tuple[Image, ...]
    containers: tuple[Container, ...] = ()
    sandbox_image: str = ""
    """Empty when the runtime does not tell."""
    space: Space | None = None
    """Of the fullest filesystem that holds images; None when it cannot be seen."""
    layers: Mapping[ImageKey, tuple[Layer, ...]] = field(default_factory=dict)
    """For the images whose layers the runtime tells."""
    memory: Memory | None = None
    resolutions: tuple[Resolution, ...] = ()
    """What was pulled by digest for a handler."""


class Decision(StrEnum):
    KEEP = "keep"
    REMOVE = "remove"


class Reason(StrEnum):
    PINNED = "Pinned"
    SANDBOX_IMAGE = "SandboxImage"
    MAY_BE_SANDBOX_IMAGE = "MayBeSandboxImage"
    IN_USE = "InUse"
    USE_UNKNOWN = "UseUnknown"
    OTHER_RUNTIME_CLASS = "OtherRuntimeClass"
    TOO_YOUNG = "TooYoung"
    SPACE_SUFFICES = "SpaceSuffices"
    SPACE_UNKNOWN = "SpaceUnknown"
    DEFAULT_HANDLER = "DefaultHandler"
    UNUSED_TOO_LONG = "UnusedTooLong"
    MAKES_ROOM = "MakesRoom"
    UNUSED = "Unused"
    LEFT_BY_GATE = "LeftByGate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happens to one image, and the one reason why."""

    image: Image
    decision: Decision
    reason: Reason
    message: str
    frees_bytes: int = 0

    @property
    def key(self) -> ImageKey:
        return key_of(self.image)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveImage:
    """Removes one pair, provided that it is still unpinned and unused when it happens."""

    key: ImageKey
    because: str

    @property
    def lane(self) -> ImageKey:
        return self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPlan:
    """A verdict for every image, removals first and in the order in which they happen."""

    verdicts: tuple[Verdict, ...]
    whose: Mapping[ImageKey, Whose]
    memory: Memory
    wanted_bytes: int = 0
    recheck_at: datetime | None = None
    notes: tuple[str, ...] = ()

    @property
    def actions(self) -> tuple[RemoveImage, ...]:
        return tuple(
            RemoveImage(key=verdict.key, because=verdict.message)
            for verdict in self.verdicts
            if verdict.decision is Decision.REMOVE
        )

    @property
    def freed_bytes(self) -> int:
        return sum(verdict.frees_bytes for verdict in self.verdicts)
