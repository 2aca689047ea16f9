"""The gate, the settings, the reasons and the input of the plans. Frozen data only."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from lading.api.core import DaemonSet
from lading.api.longhorn import Image, Setting
from lading.kernel.backoff import Backoff
from lading.kernel.feature_gates import Gate
from lading.kernel.planning import LastWrite
from lading.kernel.values import Redacted

PRE_PULL = Gate(
    name="PrePull",
    default=True,
    off="the DaemonSet is deleted and the Images stay, as with the Setting `false`",
)
FIELD_MANAGER = "lading-prepull"
HOLDER_NAME = "lading-prepull"
"""Of the DaemonSet."""
HOLD_KEY_NAME = "lading-prepull-key"
"""The Secret with the key. It exists only if containers of the images hold them."""
HOLDER_LABEL = "lading.dev/component"
HOLDER_LABEL_VALUE = "prepull-holder"
HOLDER_LABELS = {
    "app.kubernetes.io/name": "lading",
    "app.kubernetes.io/component": "prepull",
    HOLDER_LABEL: HOLDER_LABEL_VALUE,
}
"""Labels of the pods."""
HOLD_PROGRAM = "/usr/local/bin/lading-hold"
"""The program in Lading's own image. With a path as its argument, it copies itself there."""
HOLD_FOLDER_PREFIX = "/lading-hold-"
"""Begins the folder of that program in containers of held images."""
IMAGE_FOLDER = "/image"
"""Where a container of Lading's own image mounts the held image."""
LIST_LABEL = "lading.dev/prepull-list"
"""On Images from `--prepull-image`; the value is the name in the list."""
IMAGES_PRESENT = "lading.dev/ImagesPresent"
"""The condition that the agent of a node sets on the holder pods there."""
CONTAINERS_MAX = 64
"""A kubelet pulls 5 images a second by default, and backs off when a pod asks for more."""
SETTING_WRITE, KEY_WRITE = "Setting", "Secret"
VOLUMES_WRITE, CONTAINERS_WRITE = "DaemonSet of image volumes", "DaemonSet of containers"
"""The names of writes. A DaemonSet has two, because the API server may refuse image volumes."""
OS_LABEL, LINUX = "kubernetes.io/os", "linux"
DEFAULT_RESOURCES: Mapping[str, Mapping[str, str]] = {
    "requests": {"cpu": "1m", "memory": "1Mi"},
    "limits": {"cpu": "100m", "memory": "32Mi"},
}


_REPULL = Backoff(seconds_min=15, seconds_max=600, jitter_fraction=0)


class PrePullPeriods(msgspec.Struct, frozen=True, kw_only=True):
    """No option sets these."""

    roll_out_debounce_seconds: float = 0.3
    """Many pods change close together."""
    count_debounce_seconds: float = 1.0
    status_interval: timedelta = timedelta(seconds=30)
    """Between two statuses of an Image that differ in progress only."""
    registry_grace: timedelta = timedelta(minutes=5)
    """A registry that is unavailable for less than this is not a fault."""
    pod_creation_grace: timedelta = timedelta(seconds=30)
    """A healthy DaemonSet controller creates a pod within seconds."""
    missing_pods_interval: timedelta = timedelta(seconds=30)
    """Between two reads of events about missing pods, and of a key that is missing."""
    agent_grace: timedelta = timedelta(minutes=5)
    """An agent compares a new pod at once, but the node may still pull the agent's own image."""
    image_list_delay: timedelta = timedelta(minutes=2)
    """A kubelet lists its images from a cache of 30 s; this is twice that, and a wrong clock."""
    setting_retry_interval: timedelta = timedelta(minutes=10)
    """After a webhook refused the Setting."""
    holding_settle: timedelta = timedelta(hours=1)
    """Old nodes that come and go must not change the DaemonSet each time."""
    setback_memory: timedelta = timedelta(hours=1)
    """A pod that is lost later than this after the last one begins a new back-off."""
    repull: Backoff = _REPULL
    """Between two deletions of a node's pod because of images that it lost, and before the next
    pod of a node starts after one that failed."""
    presence_debounce_seconds: float = 1.0
    """On a node: the containers of a pod become ready one after the other."""


class DefaultImage(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `--prepull-image NAME=URL`."""

    name: str
    url: str


class Toleration(msgspec.Struct, frozen=True, kw_only=True):
    """An empty key tolerates every taint; an empty value, every value; an empty effect, all."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Wave(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes may pull at once: a number, or a percentage of the worker nodes."""

    percent: int = 10
    count: int = 0
    """Instead of the percentage, when it is not 0."""

    def size(self, node_count: int) -> int:
        return self.count or max(1, node_count * self.percent // 100)


class PrePullSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the controller."""

    images: tuple[DefaultImage, ...] = ()
    default_value: bool = True
    """The value of a new Setting, and the default if it cannot be created."""
    hold_image: str = ""
    """Lading's own image; empty means that of the controller's pod."""
    pod_name: str = ""
    node_name: str = ""
    """Where the controller's pod runs."""
    wave: Wave = Wave()
    tolerations: tuple[Toleration, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: Mapping[str, Any] = {}
    priority_class: str = "system-node-critical"
    """The kubelet evicts no pod of this class when the disk is full."""
    resources: Mapping[str, Any] = msgspec.field(default_factory=lambda: DEFAULT_RESOURCES)
    user_id: int | None = 65532
    pull_secrets: tuple[str, ...] = ()
    quiet: timedelta = timedelta(seconds=3)
    """Images that are applied within this time of each other cause one roll-out."""
    periods: PrePullPeriods = msgspec.field(default_factory=PrePullPeriods)

    @property
    def quiet_max(self) -> timedelta:
        """The DaemonSet changes after this time, even if Images still change."""
        return 5 * self.quiet

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels that a node must have. The program that holds an image is for Linux."""
        return {OS_LABEL: LINUX, **dict(self.node_selector)}


class ImageReason(StrEnum):
    """Why an Image has its state; each is the reason of its condition Deployed."""

    DEPLOYED = "Deployed"
    """All Ready worker nodes hold the image."""
    DEPLOYING = "Deploying"
    """Some worker nodes do not hold it yet."""
    NOT_VERIFIED = "NotVerified"
    """A node has no agent, and the list of its kubelet proves nothing."""
    NO_ELIGIBLE_NODES = "NoEligibleNodes"
    """No node matches the node selector and the tolerations."""
    DISABLED = "PrePullDisabled"
    """Pre-pulling is off; see `PrePullEnabled`."""
    FOREIGN_DAEMON_SET = "ForeignDaemonSet"
    """The DaemonSet `lading-prepull` belongs to another owner."""
    DAEMON_SET_REFUSED = "DaemonSetRefused"
    """The API server refuses the DaemonSet."""
    HOLD_IMAGE_UNKNOWN = "HoldImageUnknown"
    """The image of the controller is unknown."""
    HOLD_KEY_UNKNOWN = "HoldKeyUnknown"
    """The Secret `lading-prepull-key` cannot be read or created, or has no key."""
    INVALID_IMAGE = "InvalidImage"
    """The reference is invalid."""
    TOO_MANY_IMAGES = "TooManyImages"
    """There are more than 64 Images."""
    NOT_FOUND = "ImageNotFound"
    """The registry does not have the image."""
    UNAUTHORIZED = "Unauthorized"
    """The registry refuses the credentials."""
    NO_SPACE = "NoSpace"
    """The disk of a node is full."""
    NO_MATCHING_PLATFORM = "NoMatchingPlatform"
    """The image has no manifest for the platform of a node."""
    CANNOT_START = "CannotStart"
    """The container cannot start."""
    UNSCHEDULABLE = "Unschedulable"
    """The pod does not fit on a node."""
    QUOTA = "QuotaExceeded"
    """A ResourceQuota refuses the pods."""
    REGISTRY_UNAVAILABLE = "RegistryUnavailable"
    """The registry has not answered for 5 minutes."""


class PrePullEventReason(StrEnum):
    """Reasons of events that are no change of the state."""

    IMAGE_LOST = "ImageLost"
    """An image was removed from a node; it is pulled again."""


class PresenceReason(StrEnum):
    """Reasons of the condition that an agent sets on a holder pod."""

    PRESENT = "AllPresent"
    """The node has all images of the pod."""
    MISSING = "ImagesMissing"
    """An image was removed from the node."""
    WRONG_PLATFORM = "WrongPlatform"
    """The configuration of an image names another platform than that of the node."""


class EnabledBy(StrEnum):
    """What decides whether pre-pulling is on; the reason of condition PrePullEnabled."""

    SETTING = "Setting"
    """The Setting decides."""
    FEATURE_GATE_OFF = "FeatureGateOff"
    """The feature gate is off."""
    SETTING_MISSING = "SettingMissing"
    """The Setting does not exist yet; `--prepull-default` decides."""
    SETTING_REFUSED = "SettingRefused"
    """The API server refuses the Setting; `--prepull-default` decides."""
    SETTING_INVALID = "SettingInvalid"
    """The value is neither `true` nor `false`; nothing changes."""


class HoldKey(Redacted, frozen=True):
    """From it comes the name of the folder of the program, which image authors cannot guess."""

    value: bytes


class Enablement(msgspec.Struct, frozen=True, kw_only=True):
    is_on: bool
    by: EnabledBy
    message: str


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Why a container is not ready on a node."""

    why: ImageReason
    message: str = ""
    since: datetime | None = None
    """When it was first seen."""


class GatedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that waits for its turn."""

    name: str
    uid: str
    node: str
    is_replacement: bool = False
    """Whether its predecessor was not ready. Kubernetes deletes that one without waiting."""
    adds_images: bool = True
    """Whether it holds images that its predecessor did not try to hold."""
    has_pressure: bool = False
    """Whether the disk of its node is under pressure. Then it waits."""


class LostImages(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with ready containers of images that were removed from the node."""

    pod: str
    uid: str
    node: str
    containers: tuple[str, ...]


class Setbacks(msgspec.Struct, frozen=True, kw_only=True):
    """How often the pods of a node were lost in one way, and when last."""

    count: int
    last_at: datetime


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One worker node: its ready containers and its faults."""

    is_ready: bool
    held: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    """Ready containers of images that may have been removed: no agent and no list proves it."""
    faults: Mapping[str, Fault] = {}
    is_pulling: bool = False
    gated: GatedPod | None = None
    lost: LostImages | None = None
    without_pod_since: datetime | None = None
    """Since when it has had no pod of the present template."""
    without_agent_since: datetime | None = None
    """Since when it has had a ready pod that no agent has compared."""
    unready_template: str = ""
    """The template of its last pod, if that was not ready."""
    tried: frozenset[str] = frozenset()
    """The containers of its last pods without a gate."""
    obstacle: str = ""
    """Why the node cannot mount image volumes; empty if it can."""


class RollOut(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes in the roll-out, and what this process did there."""

    node_count: int = 0
    pulling_count: int = 0
    gated: tuple[GatedPod, ...] = ()
    """On Ready nodes, in the order in which they get their turn."""
    lost: tuple[LostImages, ...] = ()
    deletions: Mapping[str, Setbacks] = {}
    """By node: pods that were deleted, so that lost images are pulled again."""
    failures: Mapping[str, Setbacks] = {}
    """By node: pods that failed, for example because the kubelet evicted them."""
    obstacles: Mapping[str, str] = {}
    """By the name of each node that cannot mount image volumes."""
    without_obstacle_since: datetime | None = None
    """Since when all nodes can mount image volumes, as far as this process has seen."""
    agents_missed_since: datetime | None = None
    """Since when a Ready node has a ready pod that no agent has compared; the first of them."""
    without_pod_since: datetime | None = None
    """Since when a Ready node has no pod of the present template; the first of them."""
    is_unauthorized: bool = False
    """Whether a registry refuses the credentials of a Ready node."""


class ObservedPrePull(msgspec.Struct, frozen=True, kw_only=True):
    """The input of the plan of the DaemonSet, and of the plans of all statuses."""

    namespace: str
    images: tuple[Image, ...] = ()
    setting: Setting | None = None
    daemon_set: DaemonSet | None = None
    changed_since: datetime | None = None
    """The first change of Images in the present series of changes."""
    changed_at: datetime | None = None
    """The last change of Images."""
    hold_image: str = ""
    gate_is_on: bool = True
    key: HoldKey | None = None
    key_problem: str = ""
    """Why there is no key."""
    roll_out: RollOut = RollOut()
    reads_image_lists: bool = False
    """Whether the image lists of kubelets are watched."""
    writes: Mapping[str, LastWrite] = {}
    """The last write of this process to each object, by the names above."""


class PrePullProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Why an Image has no container."""

    why: ImageReason
    message: str
