"""The facts that a platform gets and the image that it answers with. Frozen data only."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from lading.boot_images.stream import Stream
from lading.boot_images.verdicts import NotUpdated, Why
from lading.ports.ec2 import Ami

Path = tuple[str | int, ...]


class Api(StrEnum):
    """The two APIs that have machine sets."""

    MACHINE = "machine.openshift.io"
    CLUSTER = "cluster.x-k8s.io"


class BootImage(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is the exact JSON value of the image field; `reference` is one line for people."""

    reference: str
    value: Any
    is_of_marketplace: bool = False
    """It belongs to a paid product. Only an image of the same product may replace it."""


class AmiFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What EC2 answered about the AMI of a machine set."""

    ami: Ami | None = None
    product_images: tuple[Ami, ...] = ()
    """All images of its Marketplace product."""
    problem: str = ""
    """Why nothing is known."""


class CurrentImage(msgspec.Struct, frozen=True, kw_only=True):
    """The image field of a machine spec: its path and its value."""

    path: Path
    image: BootImage

    @property
    def field(self) -> str:
        """The name of the image field. The history keeps values under this name."""
        return str(self.path[-1])


class TargetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that decide which image the machines of a spec should boot."""

    api: Api
    spec: Mapping[str, Any]
    """`providerSpec.value`, or `spec.template.spec` of an infrastructure template."""
    present: CurrentImage
    stream: Stream
    architecture: str
    """The name that RPM uses: x86_64, aarch64."""
    infrastructure_name: str = ""
    region: str = ""
    """Of the cluster; a machine spec may name its own."""
    is_in_history: bool = False
    """The history proves that the current image is the cluster's own."""
    ami: AmiFacts = AmiFacts()
    """Of the current image, on AWS."""
    trusted: tuple[str, ...] = ()
    """Images that the administrator allows to be replaced; a `*` at the end matches any text."""

    def at(self, *path: str) -> Any:
        """A value of the stream for this architecture."""
        return self.stream.at("architectures", self.architecture, *path)

    def text(self, *path: str) -> str:
        return self.stream.text("architectures", self.architecture, *path)

    @property
    def is_vouched_for(self) -> bool:
        """The history or the administrator vouches for the current image."""
        reference = self.present.image.reference
        return self.is_in_history or any(
            reference == one or (one.endswith("*") and reference.startswith(one[:-1]))
            for one in self.trusted
        )


class CloudPlatform(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def user_data_bytes_max(self) -> int | None: ...

    def present(self, api: Api, spec: Mapping[str, Any]) -> CurrentImage | NotUpdated: ...

    def target(self, request: TargetRequest) -> BootImage | NotUpdated: ...


def no_image(request: TargetRequest, platform: str) -> NotUpdated:
    message = f"the stream has no {platform} image for {request.architecture}"
    return NotUpdated(Why.NO_IMAGE, message)


def not_ours(request: TargetRequest, expected: str) -> NotUpdated:
    return NotUpdated(
        Why.NOT_OURS,
        f"{request.present.image.reference} is not proven to be an image of this cluster: "
        f"expected {expected}. To allow its replacement, list it with --trusted-boot-image.",
    )


def value_at(root: Any, path: Path) -> Any:
    """The value at this path; None if a step does not exist."""
    for step in path:
        if isinstance(root, dict):
            root = root.get(step)
        elif isinstance(root, list) and isinstance(step, int) and step < len(root):
            root = root[step]
        else:
            return None
    return root


def object_at(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def text_at(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
