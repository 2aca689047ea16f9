"""What a pod's plan on its node is made of, and what it does. Pure."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from lading.kernel.backoff import Backoff
from lading.kernel.objects import Key
from lading.ports import cri
from lading.standalone.workloads.kinds import Container, Document, Pod
from lading.standalone.workloads.pods.inputs import ProcessInputs, Values

_PULL_RETRY = Backoff(seconds_min=10, seconds_max=300, jitter_fraction=0)


class PullPhase(StrEnum):
    WAITING = "waiting"
    """In the queue of the node, or being pulled."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """What became of the pull of an image for one pod."""

    phase: PullPhase
    failures: int = 0
    """In a row."""
    reason: str = ""
    message: str = ""
    ended_at: datetime | None = None
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """A container that is a process of this machine."""

    container_id: str
    started_at: datetime
    exit_code: int | None = None
    """None while it runs; what a signal ended has 128 and its number."""
    finished_at: datetime | None = None
    output: str = field(default="", repr=False)
    """The last lines that it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPeriods:
    """How long the pod loop of a node waits; the defaults are the kubelet's."""

    image_list_interval: timedelta = timedelta(seconds=10)
    """Between two writes of the images that the Node lists: nodeStatusUpdateFrequency."""
    image_list_debounce_seconds: float = 1.0
    """What was just pulled is listed this soon."""
    presence_interval: timedelta = timedelta(seconds=10)
    """How often the images of the node are compared with what its containers hold."""
    pull_retry: Backoff = _PULL_RETRY


POD_PERIODS = PodPeriods()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPod:
    pod: Pod | None
    """None when it is gone, or runs elsewhere."""
    present: Mapping[str, cri.Image] = field(default_factory=dict)
    """The images of its containers that the node has, by the name in the spec."""
    own_images: frozenset[str] = frozenset()
    """The IDs of Lading's own image."""
    pulls: Mapping[str, PullRecord] = field(default_factory=dict)
    """By image."""
    processes: Mapping[str, ProcessRecord] = field(default_factory=dict)
    """By container."""
    declared: tuple[cri.Container, ...] = ()
    """The containers of the pod that the runtime knows."""
    values: Values = field(default_factory=dict, repr=False)
    """Of the Secrets and ConfigMaps that its containers need to start."""
    folder: str = ""
    """Where its volumes are on this machine."""
    strays: tuple[str, ...] = ()
    """UIDs of other pods of this name that still have processes or pulls here."""
    periods: PodPeriods = POD_PERIODS


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPull:
    pod: Pod = field(repr=False)
    image: str
    because: str
    lane: Hashable = "pull"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartProcess:
    pod: Pod = field(repr=False)
    container: Container = field(repr=False)
    container_id: str
    inputs: ProcessInputs
    because: str
    lane: Hashable = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPod:
    """Ends the processes of a pod: asked first, then forced; and forgets its pulls."""

    uid: str
    because: str
    lane: Hashable = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareContainers:
    """Says to the runtime which containers of the pod keep images in use."""

    uid: str
    containers: tuple[cri.Container, ...]
    because: str
    lane: Hashable = "declare"


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePodStatus:
    """Merges into the status: conditions of others stay."""

    key: Key
    uid: str
    status: Document
    because: str
    lane: Hashable = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishDeletion:
    """The pod has ended: its object may go, as a kubelet lets it go."""

    key: Key
    uid: str
    because: str
    lane: Hashable = "status"
