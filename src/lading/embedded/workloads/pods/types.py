"""The input of a pod's plan on its node, and the actions that only a node has. Pure."""

from collections.abc import Hashable, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from lading.embedded.workloads.kinds import Container, Pod
from lading.embedded.workloads.pods.inputs import ProcessInputs, Values
from lading.kernel.values import Redacted
from lading.ports import cri


class PullPhase(StrEnum):
    WAITING = "waiting"
    """The pull is in the queue of the node, or it runs."""
    DONE = "done"
    FAILED = "failed"


class PullRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the pull of one image for one pod."""

    phase: PullPhase
    failures: int = 0
    """The number of failures in a row."""
    message: str = ""
    ended_at: datetime | None = None
    retry_at: datetime | None = None


class ProcessRecord(Redacted, frozen=True, kw_only=True):
    """A container that runs as a process of this machine."""

    shown = ("container_id", "started_at", "exit_code", "finished_at")

    container_id: str
    started_at: datetime | None = None
    """None before the process exists."""
    exit_code: int | None = None
    """None before the process ends; 128 plus the number of the signal that ended it."""
    finished_at: datetime | None = None
    output: str = ""
    """The last lines that it printed."""


class ObservedPod(Redacted, frozen=True, kw_only=True):
    shown = ("pod", "pulls", "processes", "declared")

    pod: Pod | None
    """None if the pod does not exist or runs on another node."""
    present: Mapping[str, cri.Image] = {}
    """The images of its containers and volumes that the node has, by the name in the spec."""
    own_images: frozenset[str] = frozenset()
    """The IDs of Lading's own image."""
    pulls: Mapping[str, PullRecord] = {}
    """By image."""
    processes: Mapping[str, ProcessRecord] = {}
    """By container."""
    declared: tuple[cri.Container, ...] = ()
    """The containers of the pod that the runtime lists."""
    values: Values = {}
    """The Secrets and ConfigMaps that its containers need to start."""
    folder: str = ""
    """The folder of its volumes on this machine."""
    strays: tuple[str, ...] = ()
    """UIDs of deleted pods with the same name that still have processes or pulls here."""


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
    """End the processes of a pod, and forget its pulls."""

    uid: str
    because: str
    lane: Hashable = "process"


class DeclareContainers(msgspec.Struct, frozen=True, kw_only=True):
    """Tell the runtime which containers of the pod use images."""

    uid: str
    containers: tuple[cri.Container, ...]
    because: str
    lane: Hashable = "declare"
