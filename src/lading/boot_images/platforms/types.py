"""What every platform knows about boot images, and what it is asked with. Frozen data only."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from lading.boot_images.stream import Stream
from lading.boot_images.verdicts import Skipped, Why
from lading.ports.ec2 import Ami

Path = tuple[str | int, ...]


class Api(StrEnum):
    """The two APIs that have machine sets."""

    MACHINE = "machine.openshift.io"
    CLUSTER = "cluster.x-k8s.io"


class BootImage(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is the exact JSON value of the image field; `reference` shows it in one line."""

    reference: str
    value: Any
    is_of_marketplace: bool = False
    """Whether it belongs to a product that is paid for: only that product may follow it."""


class AmiFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What EC2 answered about the AMI of a machine set."""

    ami: Ami | None = None
    product_images: tuple[Ami, ...] = ()
    """All images of its Marketplace product."""
    problem: str = ""
    """Why nothing is known."""


class CurrentImage(msgspec.Struct, frozen=True, kw_only=True):
    """The image field of one machine spec: where it is, and what it holds."""

    path: Path
    image: BootImage


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Which image should the machines of this spec boot?"""

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
    """Whether our history proves the present image to be one of the cluster's own."""
    ami: AmiFacts = AmiFacts()
    """Of the present image, on AWS."""
    trusted: tuple[str, ...] = ()
    """References that the administrator lists as replaceable; `*` at the end of one matches all."""

    def at(self, *path: str) -> Any:
        """A value of the stream for this architecture."""
        return self.stream.at("architectures", self.architecture, *path)

    def text(self, *path: str) -> str:
        return self.stream.text("architectures", self.architecture, *path)

    @property
    def is_vouched_for(self) -> bool:
        """Whether history or the administrator prove the present image to be ours."""
        reference = self.present.image.reference
        return self.is_in_history or any(
            reference == one or (one.endswith("*") and reference.startswith(one[:-1]))
            for one in self.trusted
        )


class CloudPlatform(Protocol):
    """Raises Skipped with the reason where there is no answer."""

    @property
    def name(self) -> str: ...

    @property
    def user_data_bytes_max(self) -> int | None: ...

    def present(self, api: Api, spec: Mapping[str, Any]) -> CurrentImage: ...

    def target(self, question: Question) -> BootImage: ...


def no_image(question: Question, platform: str) -> Skipped:
    return Skipped(Why.NO_IMAGE, f"the stream has no {platform} image for {question.architecture}")


def not_ours(question: Question, expected: str) -> Skipped:
    return Skipped(
        Why.NOT_OURS,
        f"{question.present.image.reference} is not proven to be an image of this cluster: "
        f"expected {expected}. To allow its replacement, list it with --trusted-boot-image.",
    )


def object_at(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def text_at(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
