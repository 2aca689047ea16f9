"""How long pre-pulling waits, as one value that tests can change."""

from datetime import timedelta

import msgspec

from lading.kernel.backoff import Backoff

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
    """A DaemonSet controller that is well makes a pod within seconds."""
    missing_pods_interval: timedelta = timedelta(seconds=30)
    """How often events are read for the reason why a node has no pod, and a key that is missing."""
    agent_grace: timedelta = timedelta(minutes=5)
    """An agent compares a new pod at once, and its image may still be on the way to the node."""
    image_list_delay: timedelta = timedelta(minutes=2)
    """A kubelet lists its images from a cache of 30 s; twice that, and a clock that is wrong."""
    setting_retry_interval: timedelta = timedelta(minutes=10)
    """After a webhook refused the Setting."""
    holding_settle: timedelta = timedelta(hours=1)
    """Old nodes that come and go must not change the DaemonSet each time."""
    deletion_memory: timedelta = timedelta(hours=1)
    """A pod that is deleted later than this after the last one begins a new back-off."""
    repull: Backoff = _REPULL
    """Between two deletions of a node's pod because of images that it lost."""
    presence_debounce_seconds: float = 1.0
    """On a node: containers of a pod become ready one after the other."""
