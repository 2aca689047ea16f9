"""The conditions of sets, pools and nodes, their reasons, and the reasons of events. Pure.

docs/pinned-images.md says what to do about each.
"""

from enum import StrEnum


class ConditionType(StrEnum):
    READY = "Ready"
    """Of a set: every node of its pools has pinned all its images."""
    DEGRADED = "Degraded"
    """Of a set: a node reports an error. Of a pool: a feature reports a problem, such as a full
    disk."""
    SETS_DEGRADED = "PinnedImageSetsDegraded"
    """Of a node: a set has a problem. Of a pool: a node reports one."""
    SETS_PROGRESSING = "PinnedImageSetsProgressing"
    """Of a node: images are being pulled or pinned."""


class Reason(StrEnum):
    AS_EXPECTED = "AsExpected"
    """Nothing is wrong."""
    # Of sets and pools.
    IN_PROGRESS = "InProgress"
    """Some nodes are not ready yet."""
    NO_NODES = "NoNodes"
    """No node gets the set; the message names the cause."""
    GATE_OFF = "FeatureGateOff"
    """The controller's feature gate is off."""
    NODES_DEGRADED = "NodesDegraded"
    """Nodes report errors."""
    SET_NOT_FOUND = "SetNotFound"
    """A pool names a set that does not exist."""
    # Of nodes.
    PREFETCHING = "ImagePrefetch"
    """Images are being pulled or pinned."""
    PREFETCH_FAILED = "PrefetchFailed"
    """An image cannot be pulled."""
    UNKNOWN_HANDLER = "UnknownRuntimeHandler"
    """The container runtime has no handler of the runtime class."""
    IMAGE_REMOVED = "ImageRemoved"
    """An image is removed again and again before its set is complete."""
    NO_SPACE = "NoSpace"
    """The disk was full in the middle of a pull."""
    INSUFFICIENT_STORAGE = "InsufficientStorage"
    """A set does not fit on the disk."""
    DISK_NOT_CHECKED = "DiskNotChecked"
    """The free space or the size of an image is unknown, and `--require-disk-check` is set."""
    NODE_NOT_READY = "NodeNotReady"
    """The node is not Ready."""
    DISK_PRESSURE = "DiskPressure"
    """The node reports DiskPressure."""
    CANNOT_PIN = "RuntimeCannotPin"
    """The container runtime cannot pin images."""
    PIN_NOT_TAKEN = "PinNotInForce"
    """The container runtime does not report a pin that was written."""
    PINNING_FAILED = "PinningFailed"
    """Pins could not be written."""
    PINS_IGNORED = "KubeletIgnoresPins"
    """The kubelet removes pinned images."""


class EventReason(StrEnum):
    """Of events that the controller and agents record."""

    READY = "Ready"
    """Every node has pinned all images of the set."""
    DEGRADED = "Degraded"
    """A condition that reports errors became true."""
    RECOVERED = "Recovered"
    """A condition that reports errors became false again."""
    NO_POOL = "NoPool"
    """No pool selects the node, so it gets no set."""
    PINNED = "Pinned"
    """The node has pinned a new generation of a set."""
    TAG_MOVED = "TagMoved"
    """On the node, a tag of a set meant another image. Now it means the image of the set."""
    UNPINNED = "Unpinned"
    """A set no longer applies to the node, and its pins are removed."""
