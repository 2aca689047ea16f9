"""The inputs of the plan of a node, and its actions. Frozen data only."""

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel import conditions, quantities
from lading.kernel.backoff import Backoff
from lading.kernel.images import ImageKey, Resolution
from lading.kernel.pacing import Pacing
from lading.kernel.values import replace
from lading.pinned_images.node.transfers import Transfer
from lading.pinned_images.reasons import Reason
from lading.pinned_images.types import SetState
from lading.ports.cri import ImageSpec, Pin, RecordedPin

_PULL_RETRY = Backoff(seconds_min=5, seconds_max=320, jitter_fraction=0.25)
_REMOVED_RETRY = Backoff(seconds_min=60, seconds_max=1800, jitter_fraction=0.25)


class DesiredSet(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uid: str = ""
    generation: int
    images: tuple[ImageKey, ...]
    tags: Mapping[str, ImageKey] = {}
    """The image that each name, `repository:tag`, must mean on the node."""
    unresolvable: tuple[str, ...] = ()
    """Why images of the set cannot be pulled, such as a runtime class that does not exist."""


class PinSettings(msgspec.Struct, frozen=True, kw_only=True):
    parallel_pulls_max: int = 8
    behind_cache: bool = False
    """The node pulls through a cache that keeps a layer for each repository it is pulled from."""
    expansion_factor: float = 2.0
    """Bytes on disk per compressed byte: a release of 16 GiB takes 32 GiB."""
    start_spread: timedelta = timedelta(0)
    """The nodes of a fleet start a new generation over this time, each at its own moment."""
    start_spread_per_node: timedelta = timedelta(milliseconds=100)
    start_spread_max: timedelta = timedelta(minutes=1)
    resync_period: timedelta = timedelta(minutes=2)
    status_interval_min: timedelta = timedelta(seconds=30)
    """Between two statuses that only report progress."""
    news_interval_min: timedelta = timedelta(milliseconds=500)
    """Between a status and good news. It limits a state that keeps changing."""
    read_back_after: timedelta = timedelta(milliseconds=100)
    """The delay between writing pins and checking that the runtime reports them."""
    pull_progress_timeout: timedelta = timedelta(minutes=10)
    """A pull is cancelled if the disk does not grow for this long. The limits of the runtimes
    are shorter, so that they act first and name the cause."""
    require_disk_check: bool = False
    """Pull nothing if the free space or the size of an image is unknown."""
    pins_interval: timedelta = timedelta(seconds=30)
    """How often pins are written again that the runtime does not report."""
    pinning_timeout: timedelta = timedelta(minutes=1)
    """Pins that are not in force after this time are an error. A runtime needs seconds, CRI-O
    until its next reload."""
    pull_retry: Backoff = _PULL_RETRY
    """After a pull failed, or an image could not be resolved."""
    removed_retry: Backoff = _REMOVED_RETRY
    """After an image was removed before it was pinned. The kubelet collects images every 5
    minutes; an image that it removes each time is pulled less often."""

    @property
    def status_pacing(self) -> Pacing:
        return Pacing(
            news_interval_per_node=self.news_interval_min,
            nodes_unpaced=0,
            interval_per_node=self.status_interval_min,
        )


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    node_name: str
    sets: tuple[DesiredSet, ...]
    generation: int = 0
    """Of the MachineConfigNode."""
    settings: PinSettings = PinSettings()


ProblemId = tuple[Reason, str]
"""Problems with the same id are the same, even if the bytes in their messages differ."""
ReportedProblems = Mapping[str, frozenset[ProblemId]]
"""By the name of the set."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a set or an image is not as desired."""

    reason: Reason
    message: str
    image: str = ""
    """The image for one runtime handler. Empty if the problem is not about a single image."""

    @property
    def id(self) -> ProblemId:
        return self.reason, self.image


class PullErrorKind(StrEnum):
    """Why a pull failed. Statuses, events and metrics use these names."""

    NOT_FOUND = "ImageNotFound"
    """The registry does not have the image."""
    UNAUTHORIZED = "Unauthorized"
    """The registry refuses the credentials, or asks for some."""
    NO_SPACE = "NoSpace"
    """The disk is full."""
    NO_MATCHING_PLATFORM = "NoMatchingPlatform"
    """The image has no manifest for the platform."""
    UNKNOWN_HANDLER = "UnknownRuntimeHandler"
    """The container runtime does not know the runtime handler."""
    REJECTED = "ContentRejected"
    """The content does not match its digest, or is malformed."""
    STALLED = "Stalled"
    """Nothing arrived for `--pull-progress-timeout`."""
    TAG_MOVED = "TagMoved"
    """In the registry, a tag means another image than in the set."""
    UNAVAILABLE = "Unavailable"
    """The registry or the container runtime does not answer."""
    OTHER = "PullFailed"
    """Another error."""


class PullError(msgspec.Struct, frozen=True, kw_only=True):
    kind: PullErrorKind
    message: str
    at: datetime


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in the ledger of the pull engine. A pull that succeeded has none."""

    running: bool
    attempts: int
    error: PullError | None = None
    """The last failure. It stays while the next attempt runs."""
    credentials_changed: bool = False
    """The registry refused it, and there is a credential that was not tried."""
    progress_at: datetime | None = None
    """When the pull began or the disk last grew. None if the disk cannot be read."""
    new_bytes: int = 0
    """Compressed bytes to download; 0 if unknown."""
    free_bytes_before: int = 0
    """Of the disk when the pull started; 0 if unknown."""


class PastPulls(msgspec.Struct, frozen=True, kw_only=True):
    """Successful pulls of an image that was not pinned since."""

    count: int
    last_at: datetime


class FailedResolution(msgspec.Struct, frozen=True, kw_only=True):
    attempts: int
    error: PullError


class Present(msgspec.Struct, frozen=True, kw_only=True):
    """An image that the runtime lists at this moment."""

    image_id: str
    reference: str
    """The name of the image in the runtime. Pins use it."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The space of the image file system, and how much of it must stay free."""

    capacity_bytes: int
    free_bytes: int
    reserve_bytes: int
    reserve_reason: str = "the kubelet's limits"

    @property
    def usable_bytes(self) -> int:
        return max(0, self.free_bytes - self.reserve_bytes)


class WriteHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What this process wrote and saw before. Empty after a restart."""

    status_at: datetime | None = None
    problems: ReportedProblems | None = None
    """In the last status; None before the first one."""
    pins_at: datetime | None = None
    pins_error: str = ""
    """Why the last pins could not be written; empty if they could."""
    pins_delay: str = ""
    """The same, for an error that is likely to pass."""
    unpinned_since: Mapping[str, datetime] = {}
    """Since when sets are complete without being pinned, by name."""
    first_seen_at: Mapping[tuple[str, int], datetime] = {}
    """When this node first saw a generation, by (uid of the set, generation)."""

    def with_status(self, now: datetime, problems: ReportedProblems) -> "WriteHistory":
        return replace(self, status_at=now, problems=problems)


class ObservedNodeImages(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool = True
    disk_pressure: bool = False
    images: Mapping[ImageKey, Present] = {}
    tags: Mapping[str, str] = {}
    """The ID of the image that each `repository:tag` means."""
    makes_tags: bool = True
    """Whether tags are written with the pins. If not, the runtime pulls them."""
    image_ids: frozenset[str] = frozenset()
    """Of all images that the runtime lists, wanted by a set or not."""
    pins: tuple[RecordedPin, ...] = ()
    released_pins: tuple[RecordedPin, ...] = ()
    """Pins that were removed, but that the runtime may still hold."""
    pins_outdated: bool = False
    """Pins of others changed, and ours hide the change."""
    cannot_pin: str = ""
    """Why this runtime cannot pin; empty if it can."""
    pins_ignored: str = ""
    """Why the kubelet collects pinned images; empty if it does not."""
    resolutions: Mapping[ImageKey, Resolution] = {}
    unresolved: Mapping[ImageKey, FailedResolution] = {}
    """Pulled without a known size: the runtime may reach a registry that the agent does not."""
    resolving: frozenset[ImageKey] = frozenset()
    budget: Budget | None = None
    disk_unchecked: str = ""
    """Why the free space of an image file system is unknown; empty if it is known."""
    runtime_handlers: frozenset[str] = frozenset()
    """Of the container runtime. Empty if it does not list them, or if no image needs one."""
    handlers_honoured: bool = True
    """Whether the runtime keeps images apart by runtime handler. If not, the agent does it by
    digest."""
    images_kept_while_gate_is_off: frozenset[str] = frozenset()
    """The IDs of images for runtime classes only, while the gate of these is off."""
    pulls: Mapping[ImageKey, Pull] = {}
    transfer: Transfer = msgspec.field(default_factory=Transfer)
    """The progress of all running pulls together."""
    past_pulls: Mapping[ImageKey, PastPulls] = {}
    """If one of these images is missing, it was removed after its pull."""
    last_status: MachineConfigNodeStatus = msgspec.field(default_factory=MachineConfigNodeStatus)
    status_is_wanted: bool = True
    """False while there is no MachineConfigNode."""
    history: WriteHistory = WriteHistory()

    @property
    def node_is_well(self) -> bool:
        return self.ready and not self.disk_pressure


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """What the node does about missing images."""

    pulling: int = 0
    """Running pulls."""
    attempt: int = 0
    """The highest of the running pulls, or the number of the next attempt."""
    next_try_at: datetime | None = None
    """Only if no pull runs."""

    def __str__(self) -> str:
        """`attempt 3`, `next try at 2026-01-01T00:00:00Z`, or empty."""
        if self.next_try_at is not None:
            return f"next try at {conditions.timestamp(self.next_try_at)}"
        return f"attempt {self.attempt}" if self.attempt > 1 else ""


class SetVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one set. It does not depend on other sets."""

    desired: DesiredSet
    state: SetState
    missing: tuple[ImageKey, ...] = ()
    missing_bytes: int | None = 0
    """Compressed bytes of the missing layers; None if a size is unknown."""
    problems: tuple[Problem, ...] = ()
    activity: Activity = Activity()

    @property
    def is_complete(self) -> bool:
        """All images are on the node, pinned or not."""
        return not self.missing and not self.desired.unresolvable


class SetBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Compressed bytes of the layers of a set, each layer once."""

    total: int
    present: int


class ImageCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over the images of all sets of the node, each image once."""

    wanted: int
    present: int
    pulling: int
    wanted_bytes: int
    missing_bytes: int | None
    """None if the size of an image is unknown."""
    activity: Activity = Activity()

    def __str__(self) -> str:
        """`3 of 9 images are on the node, 120 MiB of 1 GiB to pull, 4 being pulled, attempt 2`."""
        parts = [f"{self.present} of {self.wanted} images are on the node"]
        if self.missing_bytes is not None and self.present < self.wanted:
            shown = quantities.format_bytes
            parts.append(f"{shown(self.missing_bytes)} of {shown(self.wanted_bytes)} to pull")
        if self.pulling:
            parts.append(f"{self.pulling} being pulled")
        if str(self.activity):
            parts.append(str(self.activity))
        return ", ".join(parts)


class StartPull(msgspec.Struct, frozen=True, kw_only=True):
    key: ImageKey
    spec: ImageSpec
    """The request to the runtime."""
    new_bytes: int
    """Compressed bytes of the missing layers; 0 if unknown."""
    free_bytes: int = 0
    """Of the disk at this moment; 0 if unknown."""
    because: str

    @property
    def lane(self) -> Hashable:
        return self.key


class CancelPull(msgspec.Struct, frozen=True, kw_only=True):
    """Stops a running pull, or removes a failed one from the ledger."""

    key: ImageKey
    because: str
    is_stalled: bool = False
    """The pull counts as failed, and is retried with back-off."""

    @property
    def lane(self) -> Hashable:
        return self.key


class ResolveImages(msgspec.Struct, frozen=True, kw_only=True):
    keys: tuple[ImageKey, ...]
    because: str
    lane: Hashable = "resolve"


class ForgetImages(msgspec.Struct, frozen=True, kw_only=True):
    """Limits the memory of the resolver and of the pull engine to these images."""

    wanted: frozenset[ImageKey]
    unpinned: frozenset[ImageKey]
    """The pulls of a pinned image are no longer counted."""
    because: str
    lane: Hashable = "memory"


class WritePins(msgspec.Struct, frozen=True, kw_only=True):
    """Replaces our pins by these. The driver skips an image that is gone."""

    pins: tuple[Pin, ...]
    because: str
    lane: Hashable = "pins"


class WriteStatus(msgspec.Struct, frozen=True, kw_only=True):
    status: MachineConfigNodeStatus
    problems: ReportedProblems
    because: str
    lane: Hashable = "status"
