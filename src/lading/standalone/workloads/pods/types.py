"""What a pod's plan on its node is made of, and what it does. Pure."""

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from lading.kernel.backoff import Backoff
from lading.kernel.objects import Key
from lading.kernel.values import Redacted
from lading.ports import cri
from lading.standalone.workloads.kinds import Container, Document, Pod
from lading.standalone.workloads.pods.inputs import ProcessInputs, Values

_PULL_RETRY = Backoff(seconds_min=10, seconds_max=300, jitter_fraction=0)


class PullPhase(StrEnum):
    WAITING = "waiting"
    """In the queue of the node, or being pulled."""
    DONE = "done"
    FAILED = "failed"


class PullRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the pull of an image for one pod."""

    phase: PullPhase
    failures: int = 0
    """In a row."""
    reason: str = ""
    message: str = ""
    ended_at: datetime | None = None
    retry_at: datetime | None = None


class ProcessRecord(Redacted, frozen=True, kw_only=True):
    """A container that is a process of this machine."""

    shown = ("container_id", "started_at", "exit_code", "finished_at")

    container_id: str
    started_at: datetime
    exit_code: int | None = None
    """None while it runs; what a signal ended has 128 and its number."""
    finished_at: datetime | None = None
    output: str = ""
    """The last lines that it printed."""


class PodPeriods(msgspec.Struct, frozen=True, kw_only=True):
    """How long the pod loop of a node waits; the defaults are the kubelet's."""

    image_list_interval: timedelta = timedelta(seconds=10)
    """Between two writes of the images that the Node lists: nodeStatusUpdateFrequency."""
    image_list_debounce_seconds: float = 1.0
    """What was just pulled is listed this soon."""
    presence_interval: timedelta = timedelta(seconds=10)
    """How often the images of the node are compared with what its containers hold."""
    pull_retry: Backoff = _PULL_RETRY


POD_PERIODS = PodPeriods()


class ObservedPod(Redacted, frozen=True, kw_only=True):
    shown = ("pod", "pulls", "processes", "declared")

    pod: Pod | None
    """None when it is gone, or runs elsewhere."""
    present: Mapping[str, cri.Image] = {}
    """The images of its containers and volumes that the node has, by the name in the spec."""
    own_images: frozenset[str] = frozenset()
    """The IDs of Lading's own image."""
    pulls: Mapping[str, PullRecord] = {}
    """By image."""
    processes: Mapping[str, ProcessRecord] = {}
    """By container."""
    declared: tuple[cri.Container, ...] = ()
    """The containers of the pod that the runtime knows."""
    values: Values = {}
    """Of the Secrets and ConfigMaps that its containers need to start."""
    folder: str = ""
    """Where its volumes are on this machine."""
    strays: tuple[str, ...] = ()
    """UIDs of other pods of this name that still have processes or pulls here."""
    periods: PodPeriods = POD_PERIODS


class RequestPull(Redacted, frozen=True, kw_only=True):
    shown = ("image", "because")

    pod: Pod
    image: str
    because: str
    lane: Hashable = "pull"


class StartProcess(Redacted, frozen=True, kw_only=True):
    shown = ("container_id", "inputs", "because")

    pod: Pod
    container: Container
    container_id: str
    inputs: ProcessInputs
    because: str
    lane: Hashable = "process"


class StopPod(msgspec.Struct, frozen=True, kw_only=True):
    """Ends the processes of a pod: asked first, then forced; and forgets its pulls."""

    uid: str
    because: str
    lane: Hashable = "process"


class DeclareContainers(msgspec.Struct, frozen=True, kw_only=True):
    """Says to the runtime which containers of the pod keep images in use."""

    uid: str
    containers: tuple[cri.Container, ...]
    because: str
    lane: Hashable = "declare"


class WritePodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Merges into the status: conditions of others stay."""

    key: Key
    uid: str
    status: Document
    because: str
    lane: Hashable = "status"


class FinishDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """The pod has ended: its object may go, as a kubelet lets it go."""

    key: Key
    uid: str
    because: str
    lane: Hashable = "status"
