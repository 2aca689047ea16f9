"""What the plan of a node is made from, and what it is made of. Frozen data only."""

from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel import conditions, pacing, quantities
from lading.kernel.backoff import Backoff
from lading.kernel.images import ImageKey, Resolution
from lading.kernel.pacing import Pacing, Writes
from lading.kernel.values import replace
from lading.pinned_images.node.transfers import Transfer
from lading.pinned_images.progress import SetState
from lading.pinned_images.reasons import EventReason, Reason
from lading.ports.cri import ImageSpec, Pin, RecordedPin

STATUS_BURST_MAX = 30
"""So often a status is written at once within `PinSettings.status_interval_min`; then evenly."""
_PULL_RETRY = Backoff(seconds_min=5, seconds_max=320, jitter_fraction=0.25)
_REMOVED_RETRY = Backoff(seconds_min=60, seconds_max=1800, jitter_fraction=0.25)


class DesiredSet(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uid: str = ""
    generation: int
    images: tuple[ImageKey, ...]
    unresolvable: tuple[str, ...] = ()
    """What cannot be asked for at all, such as a runtime class that does not exist."""
    first_seen_at: datetime
    """When this node first saw this generation; its start is spread from there."""


class PinSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator may change; the defaults are the design's."""

    parallel_pulls_max: int = 8
    behind_cache: bool = False
    """The node pulls through a cache that keeps a layer for each repository it is pulled from."""
    expansion_factor: float = 2.0
    """Bytes on disk per compressed byte: a release of 16 GiB takes 32 GiB."""
    start_spread: timedelta = timedelta(0)
    """The fleet starts a new generation over this long, each node at its own moment."""
    start_spread_per_node: timedelta = timedelta(milliseconds=100)
    start_spread_max: timedelta = timedelta(minutes=1)
    resync_period: timedelta = timedelta(minutes=2)
    status_interval_min: timedelta = timedelta(seconds=30)
    read_back_after: timedelta = timedelta(milliseconds=100)
    """How soon after writing pins the runtime is asked whether they are in force."""
    pull_progress_timeout: timedelta = timedelta(minutes=10)
    """A pull is cancelled when the disk has not grown for this long. The limits of the runtimes
    are shorter, so that they act first and name the cause."""
    require_disk_check: bool = False
    """Pull nothing where free space, or the size of an image, is not known."""
    pins_interval: timedelta = timedelta(seconds=30)
    """How often pins are written that the runtime does not take."""
    pinning_timeout: timedelta = timedelta(minutes=1)
    """Pins that are not in force by then are an error. A runtime takes them within seconds, CRI-O
    after a reload."""
    pull_retry: Backoff = _PULL_RETRY
    """After a pull, or resolving an image, failed."""
    removed_retry: Backoff = _REMOVED_RETRY
    """After an image was removed that is not pinned yet. The kubelet collects images every 5
    minutes; what it removes each time is soon pulled more rarely."""
    credentials_interval: timedelta = timedelta(seconds=10)
    """How often a new credential is looked for after the registry refused a pull."""

    @property
    def past_pulls_kept(self) -> timedelta:
        """Pulls are counted for longer than the longest delay after a removal."""
        return timedelta(seconds=2 * self.removed_retry.seconds_max)

    @property
    def status_pacing(self) -> Pacing:
        interval = self.status_interval_min
        return Pacing(progress_interval=interval, state_interval=interval, burst=STATUS_BURST_MAX)


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    node_name: str
    sets: tuple[DesiredSet, ...]
    generation: int = 0
    """Of the MachineConfigNode that the status is about."""
    settings: PinSettings = PinSettings()


ProblemId = tuple[Reason, str]
"""What makes two problems the same: other free bytes in the message make no other problem."""
ReportedProblems = Mapping[str, frozenset[ProblemId]]
"""By the name of the set."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a set or an image is not as desired."""

    reason: Reason
    message: str
    image: str = ""
    """The image that it is about, for one runtime handler; empty when it is about no single one."""

    @property
    def id(self) -> ProblemId:
        return self.reason, self.image


class PullErrorKind(StrEnum):
    """Why a pull failed; a status, an event and a metric share the name."""

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
    UNAVAILABLE = "Unavailable"
    """The registry or the container runtime does not answer."""
    OTHER = "PullFailed"
    """Another error."""


class PullError(msgspec.Struct, frozen=True, kw_only=True):
    kind: PullErrorKind
    message: str
    at: datetime


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the pull engine's ledger; a finished pull leaves it and is seen as present."""

    running: bool
    attempts: int
    error: PullError | None = None
    """The last failure; it stays while the next attempt runs."""
    credentials_changed: bool = False
    """It was refused, and there is a credential that was not tried."""
    progress_at: datetime | None = None
    """When the pull began, or bytes were last seen to arrive; None where that cannot be seen."""
    new_bytes: int = 0
    """Compressed bytes that it is to bring; 0 when its size is not known."""


class PastPulls(msgspec.Struct, frozen=True, kw_only=True):
    """Pulls of an image that ended well and did not lead to a pin."""

    count: int
    last_at: datetime


class FailedResolution(msgspec.Struct, frozen=True, kw_only=True):
    attempts: int
    error: PullError


class Present(msgspec.Struct, frozen=True, kw_only=True):
    """An image that the runtime lists at this moment."""

    image_id: str
    reference: str
    """The name by which the runtime knows it and by which it can be pinned."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The image file system as it is, and what must stay free of it."""

    capacity_bytes: int
    free_bytes: int
    reserve_bytes: int
    reserve_reason: str = "the kubelet's limits"

    @property
    def usable_bytes(self) -> int:
        return max(0, self.free_bytes - self.reserve_bytes)


class ObservedNodeImages(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool = True
    disk_pressure: bool = False
    images: Mapping[ImageKey, Present] = {}
    image_ids: frozenset[str] = frozenset()
    """Everything that the runtime lists, wanted by a set or not."""
    pins: tuple[RecordedPin, ...] = ()
    released_pins: tuple[RecordedPin, ...] = ()
    """Those that were taken back, and that the runtime has not been seen to let go."""
    pins_outdated: bool = False
    """Pins of others have changed, and ours hide that."""
    cannot_pin: str = ""
    """Why this runtime lets us pin nothing; empty when it does."""
    pins_ignored: str = ""
    """Why the kubelet would collect pinned images all the same; empty when it would not."""
    resolutions: Mapping[ImageKey, Resolution] = {}
    unresolved: Mapping[ImageKey, FailedResolution] = {}
    """The runtime may reach a registry that we do not, so these are pulled without a size."""
    budget: Budget | None = None
    disk_unchecked: str = ""
    """Why the free space of an image file system is not known; empty when it is."""
    handlers_honoured: bool = True
    """Whether the runtime keeps images apart by runtime handler, or we do it by digest."""
    left_by_gate: frozenset[str] = frozenset()
    """The IDs of images that serve runtime classes only, while the gate of these is off."""
    pulls: Mapping[ImageKey, Pull] = {}
    transfer: Transfer = msgspec.field(default_factory=Transfer)
    """How far the running pulls are, all together."""
    past_pulls: Mapping[ImageKey, PastPulls] = {}
    """Of wanted images that are not pinned; one that is missing was removed since."""
    last_status: MachineConfigNodeStatus = msgspec.field(default_factory=MachineConfigNodeStatus)
    status_is_wanted: bool = True
    """False while there is no object to write it to."""
    status_writes: Writes = ()
    pins_written_at: datetime | None = None
    pins_error: str = ""
    pins_delay: str = ""
    """Why the last pins could not be written, when that is likely to pass."""
    unpinned_for: Mapping[str, timedelta] = {}
    """How long sets have been complete without being pinned, by name."""
    reported_problems: ReportedProblems | None = None
    """What the last status of this process reported; None before it wrote one."""

    @property
    def node_is_well(self) -> bool:
        return self.ready and not self.disk_pressure


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """When this process last wrote; after a restart it is as if it never had."""

    statuses_at: Writes = ()
    pins_at: datetime | None = None
    pins_error: str = ""
    """Why the last pins could not be written; empty when they could."""
    pins_delay: str = ""
    """The same for an error that is likely to pass."""
    unpinned_since: Mapping[str, datetime] = {}
    """Since when sets are complete without being pinned, by name."""
    problems: ReportedProblems | None = None
    """What the last status reported."""

    def with_status(self, now: datetime, problems: ReportedProblems) -> "Written":
        times = pacing.with_write(self.statuses_at, now)
        return replace(self, statuses_at=times, problems=problems)

    def with_unpinned(self, names: Iterable[str], now: datetime) -> "Written":
        since = {name: min(self.unpinned_since.get(name, now), now) for name in names}
        return replace(self, unpinned_since=since)


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """What the node does now about images that are missing."""

    pulling: int = 0
    """Pulls that run."""
    attempt: int = 0
    """The highest of the running pulls, or that of the next one."""
    next_try_at: datetime | None = None
    """Only while no pull runs."""

    def __str__(self) -> str:
        """`attempt 3` of what runs, `next try at 2026-01-01T00:00:00Z`, or empty."""
        if self.next_try_at is not None:
            return f"next try at {conditions.timestamp(self.next_try_at)}"
        return f"attempt {self.attempt}" if self.attempt > 1 else ""


class SetVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """How far one set is; no verdict depends on another set's."""

    desired: DesiredSet
    state: SetState
    missing: tuple[ImageKey, ...] = ()
    missing_bytes: int | None = 0
    """Compressed bytes of the layers that are not here; None when the size is not known."""
    problems: tuple[Problem, ...] = ()
    activity: Activity = Activity()

    @property
    def is_complete(self) -> bool:
        """Everything is on the node, pinned or not."""
        return not self.missing and not self.desired.unresolvable


class SetBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Compressed layers of a set, each once."""

    total: int
    present: int


class ImageCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How far the node is with the images of all its sets, each counted once."""

    wanted: int
    present: int
    pulling: int
    wanted_bytes: int
    missing_bytes: int | None
    """None when the size of an image is not known."""
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
    """How the runtime is asked for it."""
    new_bytes: int
    """Compressed bytes of the layers that are not here; 0 when its size is not known."""
    because: str

    @property
    def lane(self) -> Hashable:
        return self.key


class CancelPull(msgspec.Struct, frozen=True, kw_only=True):
    """Ends the pull; of one that failed, gives up trying it again."""

    key: ImageKey
    because: str
    is_stalled: bool = False
    """The pull has failed, and is tried again with back-off."""

    @property
    def lane(self) -> Hashable:
        return self.key


class ResolveImages(msgspec.Struct, frozen=True, kw_only=True):
    keys: tuple[ImageKey, ...]
    because: str
    lane: Hashable = "resolve"


class WritePins(msgspec.Struct, frozen=True, kw_only=True):
    """Makes these exactly our pins; the driver writes none for an image that has gone."""

    pins: tuple[Pin, ...]
    because: str
    lane: Hashable = "pins"


class WriteStatus(msgspec.Struct, frozen=True, kw_only=True):
    status: MachineConfigNodeStatus
    problems: ReportedProblems
    because: str
    lane: Hashable = "status"


class RecordNodeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Follows its status: while that cannot be written, it would be recorded at every reconcile."""

    set_name: str
    warning: bool
    reason: Reason | EventReason
    because: str
    lane: Hashable = "status"
