"""Amazon: an AMI by its id. Pure.

Ids say nothing: the stream, our history or, where we may ask it, EC2 must know the AMI. An AMI of
the Marketplace is followed only by one of the same product, which is paid for.
"""

import re
from collections.abc import Mapping
from typing import Any

from lading.boot_images.platforms.types import (
    Api,
    BootImage,
    CurrentImage,
    Question,
    no_image,
    not_ours,
    object_at,
    text_at,
)
from lading.boot_images.verdicts import Skipped, Why
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


def present(api: Api, spec: Mapping[str, Any]) -> CurrentImage:
    ami = object_at(spec, "ami")
    id_ = text_at(ami, "id")
    if not id_:
        if ami.get("filters") or ami.get("arn") or ami.get("eksLookupType"):
            raise Skipped(Why.IMAGE_FILTERS, "the AMI is chosen by filters, ARN or a lookup")
        raise Skipped(Why.IMAGE_UNREADABLE, "the machine spec names no AMI id")
    return CurrentImage(path=("ami",), image=BootImage(reference=id_, value=ami))


def region_of(spec: Mapping[str, Any]) -> str:
    """Empty where the machine spec names none; then it is that of the cluster."""
    return text_at(object_at(spec, "placement"), "region")


def target(question: Question) -> BootImage:
    if question.ami.ami is not None and question.ami.ami.owner == MARKETPLACE_OWNER:
        return _of_product(question, question.ami.ami)
    id_ = question.present.image.reference
    region = region_of(question.spec) or question.region
    regions = question.at("images", "aws", "regions")
    if not isinstance(regions, dict):
        raise no_image(question, name)
    new = question.text("images", "aws", "regions", region, "image")
    if not _AMI.fullmatch(new):
        shown = region or "(not known)"
        raise Skipped(Why.NO_IMAGE, f"the stream has no AMI for region {shown}")
    if id_ == new:
        return question.present.image
    known = _architectures_of(question, id_)
    is_red_hats = question.ami.ami is not None and question.ami.ami.owner == OWNER
    if not known and not question.is_vouched_for and not is_red_hats:
        asked = f" ({question.ami.problem})" if question.ami.problem else ""
        expected = f"an AMI of the stream or of the history, or an AMI of Red Hat{asked}"
        raise not_ours(question, expected)
    if question.ami.ami is not None:
        known.add(_architecture(question.ami.ami))
    if known and question.architecture not in known:
        raise Skipped(
            Why.ARCHITECTURE_DIFFERS,
            f"{id_} is an AMI for {', '.join(sorted(known))}, not for {question.architecture}",
        )
    return BootImage(reference=new, value={"id": new})


def product_of(ami: Ami) -> str:
    """The Marketplace product, by which the name of its images ends; empty where there is none."""
    found = _PRODUCT.search(ami.name)
    return found[0] if found else ""


def version_of(text: str) -> Version | None:
    """A release as it has been named since 4.19, and no other: `418.94` would sort after `9.6`."""
    found = _RELEASE.search(text)
    version = (int(found[1]), int(found[2]), int(found[3])) if found else None
    return version if version is not None and version[0] < OLD_SCHEME_MAJOR_MIN else None


def _of_product(question: Question, present: Ami) -> BootImage:
    """The newest image of the product that is not of a later minor release than the stream's."""
    if _architecture(present) != question.architecture:
        message = f"{present.id} is an AMI for {_architecture(present)}"
        raise Skipped(Why.ARCHITECTURE_DIFFERS, f"{message}, not for {question.architecture}")
    release = version_of(question.text("artifacts", "aws", "release"))
    if release is None:
        raise no_image(question, f"{name} Marketplace")
    fitting = [
        (version, one.created_at, one.id)
        for one in question.ami.product_images
        if (version := version_of(one.description) or version_of(one.name)) is not None
        and version[:2] <= release[:2]
        and one.owner == MARKETPLACE_OWNER
        and _architecture(one) == question.architecture
        and product_of(one) == product_of(present)
        and _AMI.fullmatch(one.id)
    ]
    if not fitting:
        minor = ".".join(str(part) for part in release[:2])
        message = f"the Marketplace product of {present.id} has no image up to release {minor}"
        raise Skipped(Why.NO_IMAGE, message)
    new = max(fitting)[2]
    value = question.present.image.value if new == present.id else {"id": new}
    return BootImage(reference=new, value=value, is_of_marketplace=True)


def _architecture(ami: Ami) -> str:
    """As RPM names it."""
    return "aarch64" if ami.architecture == "arm64" else ami.architecture


def _architectures_of(question: Question, id_: str) -> set[str]:
    """The architectures for which the stream has this AMI, in any region."""
    architectures = question.stream.at("architectures")
    found = set()
    for architecture in architectures if isinstance(architectures, dict) else ():
        regions = question.stream.at("architectures", architecture, "images", "aws", "regions")
        entries = regions.values() if isinstance(regions, dict) else ()
        if any(isinstance(one, dict) and one.get("image") == id_ for one in entries):
            found.add(architecture)
    return found
