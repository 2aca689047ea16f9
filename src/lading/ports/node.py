"""One node as features see it: container runtime, registries, disk, kubelet and state directory."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from lading.kernel.platforms import Platform
from lading.ports.cri import Cri, Pins
from lading.ports.disk import Disk
from lading.ports.journal import Journal
from lading.ports.kubelet import Kubelet
from lading.ports.registry import Credential, Registry
from lading.ports.state_file import SharedStateFile


class NodeOwned(Exception):
    """Another process changes the pins of this machine; the message names it."""


class PullCredentials(Protocol):
    async def credentials(self, image: str) -> tuple[Credential, ...]:
        """All that match the image's registry and path, in the order to try; none: anonymous."""

    def accepted(self, image: str, credential: Credential) -> None:
        """The registry took it, so it is tried first from now on."""

    def refused(self, image: str, credential: Credential) -> None:
        """The registry refused it, so a copy that was remembered is dropped."""


class StateDirectory(Protocol):
    """What must survive a restart, by file name."""

    def file(self, name: str) -> SharedStateFile: ...

    def journal(self, name: str) -> Journal: ...


class NodeRuntime(msgspec.Struct, frozen=True, kw_only=True):
    cri: Cri
    pins: Pins


class NodeParts(msgspec.Struct, frozen=True, kw_only=True):
    """What one node consists of, whether it is this machine or an embedded one."""

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
        """What is remembered about images; `lading image` reads it too."""
        return self.state.file("images.json")
