"""Google Cloud: `projects/PROJECT/global/images/NAME` in the boot disk or the template. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from lading.boot_images.platforms.types import (
    Api,
    BootImage,
    CurrentImage,
    Path,
    Question,
    no_image,
    not_ours,
)
from lading.boot_images.verdicts import Skipped, Why

name = "GCP"
user_data_bytes_max: int | None = 262_144  # one metadata value
_IMAGE = re.compile(
    r"(?:https://(?:www|compute)\.googleapis\.com/compute/[a-z0-9]+/)?"
    r"(?:projects/(?P<project>[a-z0-9.:-]+)/)?"
    r"(?:(?:global/)?images/(?P<family>family/)?)?(?P<name>[a-z0-9][a-z0-9-]*)"
)
_ARCHITECTURES = {"x86-64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def present(api: Api, spec: Mapping[str, Any]) -> CurrentImage:
    path, value = _boot_disk(spec) if api is Api.MACHINE else (("image",), spec.get("image"))
    if not isinstance(value, str) or not value:
        why = Why.IMAGE_FAMILY if spec.get("imageFamily") else Why.IMAGE_UNREADABLE
        raise Skipped(why, "the image is not named; it comes from a family or is a default")
    return CurrentImage(path=path, image=BootImage(reference=value, value=value))


def target(question: Question) -> BootImage:
    image = _IMAGE.fullmatch(question.present.image.reference)
    if image is not None and image["family"]:
        raise Skipped(Why.IMAGE_FAMILY, "the image is the newest of a family and updates itself")
    project, new = question.text("images", "gcp", "project"), question.text("images", "gcp", "name")
    if not project or not new:
        raise no_image(question, name)
    reference = f"projects/{project}/global/images/{new}"
    if question.present.image.reference == reference:
        return question.present.image
    if not question.is_vouched_for and not _is_ours(question, image, project):
        raise not_ours(question, f"an image of project {project}")
    if image is not None and _architecture(image["name"]) not in (None, question.architecture):
        raise Skipped(
            Why.ARCHITECTURE_DIFFERS,
            f"{image['name']} is not for {question.architecture}; "
            "set the architecture in the machine set's autoscaler annotation",
        )
    return BootImage(reference=reference, value=reference)


def _boot_disk(spec: Mapping[str, Any]) -> tuple[Path, Any]:
    disks = spec.get("disks")
    boot = [
        (index, disk)
        for index, disk in enumerate(disks if isinstance(disks, list) else ())
        if isinstance(disk, dict) and disk.get("boot") is True
    ]
    if len(boot) != 1:
        message = f"the machine spec has {len(boot)} boot disks; expected one"
        raise Skipped(Why.IMAGE_UNREADABLE, message)
    index, disk = boot[0]
    return ("disks", index, "image"), disk.get("image")


def _is_ours(question: Question, image: re.Match[str] | None, project: str) -> bool:
    """In the stream's own project, or what the installers until 4.6 copied for this cluster."""
    if image is None:
        return False
    installed = f"{question.infrastructure_name}-rhcos-image"
    is_installed = bool(question.infrastructure_name) and image["name"] == installed
    return image["project"] == project or is_installed


def _architecture(image_name: str) -> str | None:
    """What the name says; None when it says nothing."""
    found = (rpm for suffix, rpm in _ARCHITECTURES.items() if image_name.endswith(f"-{suffix}"))
    return next(found, None)
