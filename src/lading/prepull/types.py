"""What plans about held images are made from, and their actions. Frozen data only."""

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from lading.api.apps import DaemonSet
from lading.api.longhorn import Image, Setting
from lading.kernel.objects import Key
from lading.prepull.hold_key import HoldKey
from lading.prepull.periods import PrePullPeriods

FIELD_MANAGER = "lading-prepull"
HOLDER_NAME = "lading-prepull"
"""Of the DaemonSet."""
HOLD_KEY_NAME = "lading-prepull-key"
"""Of the Secret with the key, which exists where containers of the images hold them."""
HOLDER_LABEL = "lading.dev/component"
HOLDER_LABEL_VALUE = "prepull-holder"
HOLDER_LABELS = {
    "app.kubernetes.io/name": "lading",
    "app.kubernetes.io/component": "prepull",
    HOLDER_LABEL: HOLDER_LABEL_VALUE,
}
"""Of the pods."""
HOLD_PROGRAM = "/usr/local/bin/lading-hold"
"""Where the program is in Lading's own image; given a path, it copies itself there."""
HOLD_FOLDER_PREFIX = "/lading-hold-"
"""Of the folder with that program, where containers of the images hold them."""
IMAGE_FOLDER = "/image"
"""Where a container of Lading's own image sees the image that it holds."""
LIST_LABEL = "lading.dev/prepull-list"
"""On Images that come from `--prepull-image`; the value is the name in the list."""
IMAGES_PRESENT = "lading.dev/ImagesPresent"
"""The condition that the agent of a node sets on the holder pods there."""
CONTAINERS_MAX = 64
OS_LABEL, LINUX = "kubernetes.io/os", "linux"
DEFAULT_RESOURCES: Mapping[str, Mapping[str, str]] = {
    "requests": {"cpu": "1m", "memory": "1Mi"},
    "limits": {"cpu": "100m", "memory": "32Mi"},
}


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
    """What an administrator decides by options of the controller."""

    images: tuple[DefaultImage, ...] = ()
    default_value: bool = True
    """What the Setting is created with, and what holds where it cannot be created."""
    hold_image: str = ""
    """Lading's own image; empty means that of the controller's pod."""
    pod_name: str = ""
    node_name: str = ""
    """Where the controller's pod runs."""
    wave: Wave = Wave()
    tolerations: tuple[Toleration, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: Mapping[str, Any] = {}
    priority_class: str = "lading-prepull"
    resources: Mapping[str, Any] = msgspec.field(default_factory=lambda: DEFAULT_RESOURCES)
    user_id: int | None = 65532
    pull_secrets: tuple[str, ...] = ()
    quiet: timedelta = timedelta(seconds=3)
    """Images that are applied together come within this time of each other."""
    periods: PrePullPeriods = msgspec.field(default_factory=PrePullPeriods)

    @property
    def quiet_max(self) -> timedelta:
        """The DaemonSet follows after this time, however many Images still come."""
        return 5 * self.quiet

    @property
    def node_labels(self) -> dict[str, str]:
        """What a node must carry; the program that holds an image is one for Linux."""
        return {OS_LABEL: LINUX, **dict(self.node_selector)}


class ImageReason(StrEnum):
    """Why an Image has its state; each is the reason of its condition Deployed."""

    DEPLOYED = "Deployed"
    """All Ready worker nodes hold the image."""
    DEPLOYING = "Deploying"
    """Some worker nodes do not hold it yet."""
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
    """What an Image reports beside a change of its state."""

    IMAGE_LOST = "ImageLost"
    """An image was removed from a node; it is pulled again."""


class PresenceReason(StrEnum):
    """Of the condition by which an agent reports on a pod that holds images."""

    PRESENT = "AllPresent"
    """The node has all images of the pod."""
    MISSING = "ImagesMissing"
    """An image was removed from the node."""


class EnabledBy(StrEnum):
    """What decides whether images are pre-pulled; the reason of condition PrePullEnabled."""

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
    """Whether its predecessor was not ready and is gone or goes now: it need not wait."""


class LostImages(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with a ready container, and the image of that container is gone from the node."""

    pod: str
    uid: str
    node: str
    containers: tuple[str, ...]


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One worker node: which containers are ready there, and what goes wrong."""

    is_ready: bool
    held: frozenset[str] = frozenset()
    faults: Mapping[str, Fault] = {}
    is_pulling: bool = False
    gated: GatedPod | None = None
    lost: LostImages | None = None
    without_pod_since: datetime | None = None
    """When it was first seen without a pod of the present template, if it has none."""
    without_agent_since: datetime | None = None
    """When it was first seen with a ready pod that no agent has compared."""
    unready_template: str = ""
    """The template of a pod that was seen there not ready, and alone."""
    obstacle: str = ""
    """What keeps the node from mounting image volumes; empty when it can."""


class RollOut(msgspec.Struct, frozen=True, kw_only=True):
    """How far the nodes are."""

    node_count: int = 0
    pulling_count: int = 0
    gated: tuple[GatedPod, ...] = ()
    """On Ready nodes, in the order in which they get their turn."""
    lost: tuple[LostImages, ...] = ()
    obstacles: Mapping[str, str] = {}
    """By the name of each node that cannot mount image volumes."""


class PodDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """When pods of a node were deleted so that their images are pulled again."""

    count: int
    last_at: datetime


class ObservedPrePull(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one pass over the DaemonSet goes by."""

    namespace: str
    images: tuple[Image, ...] = ()
    setting: Setting | None = None
    setting_refusal: str = ""
    """What the API server answered when the Setting was to be created."""
    daemon_set: DaemonSet | None = None
    answered_spec: Mapping[str, Any] | None = None
    """The spec that the API server answered to the last write of this process."""
    changed_since: datetime | None = None
    """When Images first changed since the DaemonSet was last right."""
    changed_at: datetime | None = None
    """When Images last changed."""
    hold_image: str = ""
    gate_is_on: bool = True
    volumes_refusal: str = ""
    """Why the API server does not accept image volumes, once this process has tried."""
    without_obstacle_since: datetime | None = None
    """Since when this process has seen no node that cannot mount image volumes."""
    key: HoldKey | None = None
    key_unreadable: str = ""
    """Why the key cannot be read, where its Secret may exist."""
    roll_out: RollOut = RollOut()
    deletions: Mapping[str, PodDeletion] = {}
    """By node."""


class PrePullProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no container for an Image, or no DaemonSet."""

    why: ImageReason
    message: str


class CreateImage(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    listed: DefaultImage
    because: str

    @property
    def lane(self) -> Hashable:
        return ("image", self.name)


class DeleteImage(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    uid: str
    because: str

    @property
    def lane(self) -> Hashable:
        return ("image", self.key.name)


class CreateSetting(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    value: str
    because: str
    lane: Hashable = "setting"


class CreateHoldKey(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret with random bytes, which are drawn when it is written."""

    namespace: str
    because: str
    lane: Hashable = "hold key"


class CreateDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    body: Mapping[str, Any]
    because: str
    lane: Hashable = "daemon set"


class ReplaceDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    """Makes the DaemonSet what the body says; labels and annotations of others stay."""

    body: Mapping[str, Any]
    found: DaemonSet
    because: str
    lane: Hashable = "daemon set"


class DeleteDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    uid: str
    because: str
    lane: Hashable = "daemon set"


class _PodAction(msgspec.Struct, frozen=True, kw_only=True):
    """Pods are independent of each other."""

    key: Key
    uid: str
    node: str
    because: str

    @property
    def lane(self) -> Hashable:
        return ("pod", self.key.name)


class RemoveGate(_PodAction, frozen=True, kw_only=True):
    """The pod may be scheduled, and its node pulls."""


class DeletePod(_PodAction, frozen=True, kw_only=True):
    """The next pod of the node pulls what was lost."""

    containers: tuple[str, ...]


Action = (
    CreateImage
    | DeleteImage
    | CreateSetting
    | CreateHoldKey
    | CreateDaemonSet
    | ReplaceDaemonSet
    | DeleteDaemonSet
    | RemoveGate
    | DeletePod
)
