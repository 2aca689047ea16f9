"""The container runtime as the features see it: its images, its containers, and its pins.

CriError                      the runtime refused, or was not reached
├── Transient                 worth trying again as it is
│   ├── Unavailable           the runtime does not answer (stopped, restarting, no socket)
│   ├── RegistryUnavailable   the runtime could not reach the registry, or must slow down
│   └── TimedOut              the time limit of the call is over
├── ImageNotFound             the registry has no such image; to the eyes of the runtime
├── Unauthorized              the registry refuses these credentials, or wants some
├── NoSpace                   the disk, or what we may use of it, is full
├── NoMatchingPlatform        the image exists, for other platforms only
├── UnknownHandler            the runtime has no runtime handler of that name
├── InvalidReference          the runtime cannot read the image's name
├── ContentRejected           a digest or a signature is not what it must be
├── TagMoved                  a tag means another image than the one that is wanted
├── InUse                     the image cannot be removed while a container needs it
├── Unsupported               this runtime does not implement the call
└── CannotPin                 this runtime, or another owner of its pins, prevents pinning
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from lading.ports.registry import Credential


class CriError(Exception):
    """Names the call and the object, and carries the runtime's own message."""

    def __init__(self, message: str, *, image: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.image = image


class Transient(CriError):
    pass


class Unavailable(Transient):
    pass


class RegistryUnavailable(Transient):
    pass


class TimedOut(Transient):
    pass


class ImageNotFound(CriError):
    pass


class Unauthorized(CriError):
    pass


class NoSpace(CriError):
    pass


class NoMatchingPlatform(CriError):
    pass


class UnknownHandler(CriError):
    pass


class InvalidReference(CriError):
    pass


class ContentRejected(CriError):
    pass


class TagMoved(CriError):
    pass


class InUse(CriError):
    pass


class Unsupported(CriError):
    pass


class CannotPin(CriError):
    pass


class ImageSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How a caller names an image: by tag, digest or ID, for one runtime handler.

    The empty handler is the default one and behaves as if handlers did not exist.
    """

    image: str
    runtime_handler: str = ""
    annotations: Mapping[str, str] = {}
    user_specified_image: str = ""
    """The name that a person gave, where we chose the manifest; empty: `image` is that name."""


class Image(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    size_bytes: int
    repo_tags: tuple[str, ...] = ()
    repo_digests: tuple[str, ...] = ()
    uid: int | None = None
    username: str = ""
    pinned: bool = False
    runtime_handler: str = ""
    annotations: Mapping[str, str] = {}


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """An image with what the runtime reports about it beyond the contract; values are JSON text."""

    image: Image
    info: Mapping[str, str]


class FilesystemUsage(msgspec.Struct, frozen=True, kw_only=True):
    mountpoint: str
    used_bytes: int
    inodes_used: int
    measured_at_nanoseconds: int


class Filesystems(msgspec.Struct, frozen=True, kw_only=True):
    """One entry per snapshotter or storage root: a caller who wants the total adds them up."""

    images: tuple[FilesystemUsage, ...]
    containers: tuple[FilesystemUsage, ...]


class ContainerState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container, running or not, and every image that it keeps in use."""

    id: str
    name: str
    state: ContainerState
    image: ImageSpec
    image_id: str
    """The ID by which `Cri.images` lists it."""
    image_volumes: tuple[ImageSpec, ...] = ()


class RuntimeVersion(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str
    api_version: str


class RuntimeHandler(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeStatus(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool
    network_ready: bool
    handlers: tuple[RuntimeHandler, ...] = ()
    """Empty when the runtime is too old to report them; the default handler's name is empty."""
    sandbox_image: str = ""
    """What pod sandboxes run, where the runtime reports it; it must never be removed."""


class Cri(Protocol):
    async def version(self) -> RuntimeVersion: ...

    async def status(self) -> RuntimeStatus: ...

    async def images(self, only: ImageSpec | None = None) -> tuple[Image, ...]:
        """Every image, or the ones that `only` names; runtimes without a filter list all."""

    async def image(self, spec: ImageSpec) -> Image | None: ...

    async def inspect(self, spec: ImageSpec) -> Inspection | None: ...

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        """Returns the image's ID when it is on the node; cancelling the call cancels the pull."""

    async def remove(self, spec: ImageSpec) -> None:
        """Removes the image with all its names, pinned or not; an absent one is no error."""

    async def filesystems(self) -> Filesystems: ...

    async def containers(self) -> tuple[Container, ...]: ...


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """One image that the node must keep, and the sets that want it kept."""

    image: str
    """The reference by which it is pinned, normally `repository@digest`."""
    image_id: str
    """The ID by which `Cri.images` lists it."""
    owners: tuple[str, ...]
    """Sorted names of the sets; never empty."""
    tags: tuple[str, ...] = ()
    """Sorted names, `repository:tag`, that must mean this image on the node. Empty if the runtime
    gets tags only by pulling them."""


class RecordedPin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin of ours as the node records it, and whether the runtime reports it as in force."""

    pin: Pin
    effective: bool
    released: bool = False
    """It was taken back, and the runtime may not have noticed yet; writing again repeats that."""


class Pins(Protocol):
    """Our pins on one node. Pins of other owners are neither listed nor touched."""

    @property
    def makes_tags(self) -> bool:
        """Whether `write` makes the tags of pins. If not, a tag comes only with a pull."""

    async def cannot_pin(self) -> CannotPin | None:
        """Why pinning is impossible here; None when it is possible."""

    async def recorded(self) -> tuple[RecordedPin, ...]: ...

    async def outdated(self) -> bool:
        """Whether pins of others have changed that ours hide; writing ours again repairs it."""

    async def write(self, pins: Collection[Pin]) -> None:
        """Makes these exactly our pins; an image that is absent at that moment gets none."""
