"""Amazon: an AMI by its id. Ids say nothing, so the stream or our history must know it. Pure."""

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

name = "AWS"
user_data_bytes_max: int | None = 16_384  # of an EC2 instance, before base64
_AMI = re.compile(r"ami-[0-9a-f]{8,17}")


def present(api: Api, spec: Mapping[str, Any]) -> CurrentImage:
    ami = object_at(spec, "ami")
    id_ = text_at(ami, "id")
    if not id_:
        if ami.get("filters") or ami.get("arn") or ami.get("eksLookupType"):
            raise Skipped(Why.IMAGE_FILTERS, "the AMI is chosen by filters, ARN or a lookup")
        raise Skipped(Why.IMAGE_UNREADABLE, "the machine spec names no AMI id")
    return CurrentImage(path=("ami",), image=BootImage(reference=id_, value=ami))


def target(question: Question) -> BootImage:
    id_ = question.present.image.reference
    region = text_at(object_at(question.spec, "placement"), "region") or question.region
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
    if not known and not question.is_vouched_for:
        raise not_ours(question, "an AMI that the stream or our history has")
    if known and question.architecture not in known:
        raise Skipped(
            Why.ARCHITECTURE_DIFFERS,
            f"{id_} is an AMI for {', '.join(sorted(known))}, not for {question.architecture}",
        )
    return BootImage(reference=new, value={"id": new})


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
