"""Amazon: an AMI by its id. Pure.

An id does not tell the owner: the stream, the history or EC2 must know the AMI. Only an AMI of the
same product replaces an AMI of the Marketplace, because the product is paid for.
"""

import re
from collections.abc import Mapping
from typing import Any

from lading.boot_images.platforms.types import (
    Api,
    BootImage,
    CurrentImage,
    TargetRequest,
    no_image,
    not_ours,
    object_at,
    text_at,
)
from lading.boot_images.verdicts import NotUpdated, Why
from lading.ports.ec2 import Ami

name = "AWS"
user_data_bytes_max: int | None = 16_384  # of an EC2 instance, before base64
OWNER = "531415883065"  # the account that publishes the images of a stream
MARKETPLACE_OWNER = "679593333241"  # the account of the AWS Marketplace
OLD_SCHEME_MAJOR_MIN = 100  # until 4.18 a release was named 418.94.202602022246-0
Version = tuple[int, int, int]
_AMI = re.compile(r"ami-[0-9a-f]{8,17}")
_PRODUCT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_RELEASE = re.compile(r"(?<![0-9.])([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{8,12})(?![0-9.])")


def present(api: Api, spec: Mapping[str, Any]) -> CurrentImage | NotUpdated:
    ami = object_at(spec, "ami")
    id_ = text_at(ami, "id")
    if not id_:
        if ami.get("filters") or ami.get("arn") or ami.get("eksLookupType"):
            return NotUpdated(Why.IMAGE_FILTERS, "the AMI is chosen by filters, ARN or a lookup")
        return NotUpdated(Why.IMAGE_UNREADABLE, "the machine spec names no AMI id")
    return CurrentImage(path=("ami",), image=BootImage(reference=id_, value=ami))


def region_of(spec: Mapping[str, Any]) -> str:
    """Empty if the machine spec names none; then the region of the cluster counts."""
    return text_at(object_at(spec, "placement"), "region")


def target(request: TargetRequest) -> BootImage | NotUpdated:
    if request.ami.ami is not None and request.ami.ami.owner == MARKETPLACE_OWNER:
        return _of_product(request, request.ami.ami)
    id_ = request.present.image.reference
    region = region_of(request.spec) or request.region
    regions = request.at("images", "aws", "regions")
    if not isinstance(regions, dict):
        return no_image(request, name)
    new = request.text("images", "aws", "regions", region, "image")
    if not _AMI.fullmatch(new):
        shown = region or "(not known)"
        return NotUpdated(Why.NO_IMAGE, f"the stream has no AMI for region {shown}")
    if id_ == new:
        return request.present.image
    known = _architectures_of(request, id_)
    is_red_hats = request.ami.ami is not None and request.ami.ami.owner == OWNER
    if not known and not request.is_vouched_for and not is_red_hats:
        asked = f" ({request.ami.problem})" if request.ami.problem else ""
        expected = f"an AMI of the stream or of the history, or an AMI of Red Hat{asked}"
        return not_ours(request, expected)
    if request.ami.ami is not None:
        known.add(_architecture(request.ami.ami))
    if known and request.architecture not in known:
        return NotUpdated(
            Why.ARCHITECTURE_DIFFERS,
            f"{id_} is an AMI for {', '.join(sorted(known))}, not for {request.architecture}",
        )
    return BootImage(reference=new, value={"id": new})


def product_of(ami: Ami) -> str:
    """The Marketplace product, with which the names of its images end; empty if there is none."""
    found = _PRODUCT.search(ami.name)
    return found[0] if found else ""


def version_of(text: str) -> Version | None:
    """A release named as since 4.19. Older names are none: `418.94` would sort after `9.6`."""
    found = _RELEASE.search(text)
    version = (int(found[1]), int(found[2]), int(found[3])) if found else None
    return version if version is not None and version[0] < OLD_SCHEME_MAJOR_MIN else None


def _of_product(request: TargetRequest, present: Ami) -> BootImage | NotUpdated:
    """The newest image of the product, up to the minor release of the stream."""
    if _architecture(present) != request.architecture:
        message = f"{present.id} is an AMI for {_architecture(present)}"
        return NotUpdated(Why.ARCHITECTURE_DIFFERS, f"{message}, not for {request.architecture}")
    release = version_of(request.text("artifacts", "aws", "release"))
    if release is None:
        return no_image(request, f"{name} Marketplace")
    fitting = [
        (version, one.created_at, one.id)
        for one in request.ami.product_images
        if (version := version_of(one.description) or version_of(one.name)) is not None
        and version[:2] <= release[:2]
        and one.owner == MARKETPLACE_OWNER
        and _architecture(one) == request.architecture
        and product_of(one) == product_of(present)
        and _AMI.fullmatch(one.id)
    ]
    if not fitting:
        minor = ".".join(str(part) for part in release[:2])
        message = f"the Marketplace product of {present.id} has no image up to release {minor}"
        return NotUpdated(Why.NO_IMAGE, message)
    new = max(fitting)[2]
    value = request.present.image.value if new == present.id else {"id": new}
    return BootImage(reference=new, value=value, is_of_marketplace=True)


def _architecture(ami: Ami) -> str:
    """As RPM names it."""
    return "aarch64" if ami.architecture == "arm64" else ami.architecture


def _architectures_of(request: TargetRequest, id_: str) -> set[str]:
    """The architectures for which the stream has this AMI, in any region."""
    stream, found = request.stream, set()
    for architecture in stream.keys("architectures"):
        regions = ("architectures", architecture, "images", "aws", "regions")
        if any(stream.at(*regions, one, "image") == id_ for one in stream.keys(*regions)):
            found.add(architecture)
    return found
