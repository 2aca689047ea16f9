"""One node as features see it: container runtime, registries, disk, kubelet and state directory."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Protocol

import msgspec

from lading.kernel.platforms import Platform
from lading.ports.cri import Cri, Pins
from lading.ports.registry import Credential, Registry


class StateFile(Protocol):
    async def read(self) -> bytes | None:
        """None when it was never written."""

    async def replace(self, content: bytes) -> None:
        """Readers, also after a crash, see the old content or the new one."""


class SharedStateFile(StateFile, Protocol):
    """A state file that several tasks or processes change."""

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Holds the lock during the block, against other tasks and processes."""


class Journal(Protocol):
    """Facts that never change, kept over restarts. A lost journal costs only time."""

    def entries(self) -> Mapping[str, Any]: ...

    def put(self, key: str, value: Any) -> None: ...


KUBELET_PORT = 10250


class KubeletLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are the kubelet's own."""

    image_gc_high_threshold_percent: int = 85
    image_gc_low_threshold_percent: int = 80
    image_minimum_gc_age: timedelta = timedelta(minutes=2)
    image_maximum_gc_age: timedelta | None = None
    eviction_hard: Mapping[str, str] = msgspec.field(
        default_factory=lambda: {"imagefs.available": "15%", "nodefs.available": "10%"}
    )


class Kubelet(Protocol):
    async def limits(self) -> KubeletLimits:
        """The current limits of the kubelet; its defaults if it does not answer."""


class Space(msgspec.Struct, frozen=True, kw_only=True):
    capacity_bytes: int
    available_bytes: int
    """The bytes that an unprivileged process may still write."""


class Disk(Protocol):
    async def space(self, path: str) -> Space | None:
        """The file system that holds the path; None when this machine has no such path."""


class NodeOwned(Exception):
    """Another process changes the pins of this machine; the message names it."""


class PullCredentials(Protocol):
    async def credentials(self, image: str) -> tuple[Credential, ...]:
        """All that match the image's registry and path, in the order to try; empty: anonymous."""

    def accepted(self, image: str, credential: Credential) -> None:
        """The registry accepted it: try it first from now on."""

    def refused(self, image: str, credential: Credential) -> None:
        """The registry refused it: drop a cached copy."""


class StateDirectory(Protocol):
    """Files that survive a restart, by name."""

    def file(self, name: str) -> SharedStateFile: ...

    def journal(self, name: str) -> Journal: ...


class NodeRuntime(msgspec.Struct, frozen=True, kw_only=True):
    cri: Cri
    pins: Pins


class NodeParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one node: of this machine, or of an embedded node."""

    runtime: NodeRuntime
    registry: Registry
    credentials: PullCredentials
    disk: Disk
    kubelet: Kubelet
    platform_of: Callable[[str], Platform]
    """The platform of a runtime handler's guests; the empty handler is the node itself."""
    state: StateDirectory

    @property
    def image_state(self) -> SharedStateFile:
        """The recorded pulls and uses of images; `lading image` reads it too."""
        return self.state.file("images.json")
