"""Google Cloud: `projects/PROJECT/global/images/NAME` in the boot disk or the template. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from lading.boot_images.platforms.types import (
    Api,
    BootImage,
    CurrentImage,
    Path,
    TargetRequest,
    no_image,
    not_ours,
)
from lading.boot_images.verdicts import NotUpdated, Why

name = "GCP"
user_data_bytes_max: int | None = 262_144  # one metadata value
_IMAGE = re.compile(
    r"(?:https://(?:www|compute)\.googleapis\.com/compute/[a-z0-9]+/)?"
    r"(?:projects/(?P<project>[a-z0-9.:-]+)/)?"
    r"(?:(?:global/)?images/(?P<family>family/)?)?(?P<name>[a-z0-9][a-z0-9-]*)"
)
_PROJECT = re.compile(r"[a-z0-9][a-z0-9.:-]{0,99}")
_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_ARCHITECTURES = {"x86-64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def present(api: Api, spec: Mapping[str, Any]) -> CurrentImage | NotUpdated:
    path: Path = ("image",)
    value = spec.get("image")
    if api is Api.MACHINE:
        disks = _boot_disks(spec)
        if len(disks) != 1:
            message = f"the machine spec has {len(disks)} boot disks; expected one"
            return NotUpdated(Why.IMAGE_UNREADABLE, message)
        ((path, value),) = disks
    if not isinstance(value, str) or not value:
        why = Why.IMAGE_FAMILY if spec.get("imageFamily") else Why.IMAGE_UNREADABLE
        return NotUpdated(why, "the image is not named; it comes from a family or is a default")
    return CurrentImage(path=path, image=BootImage(reference=value, value=value))


def target(request: TargetRequest) -> BootImage | NotUpdated:
    image = _IMAGE.fullmatch(request.present.image.reference)
    if image is not None and image["family"]:
        return NotUpdated(
            Why.IMAGE_FAMILY, "the image is the newest of a family and updates itself"
        )
    project, new = request.text("images", "gcp", "project"), request.text("images", "gcp", "name")
    if not _PROJECT.fullmatch(project) or not _NAME.fullmatch(new):
        return no_image(request, name)
    reference = f"projects/{project}/global/images/{new}"
    if image is not None and (image["project"], image["name"]) == (project, new):
        return request.present.image  # a full URL names the same image
    if not request.is_vouched_for and not _is_ours(request, image, project):
        return not_ours(request, f"an image of project {project}")
    if image is not None and _architecture(image["name"]) not in (None, request.architecture):
        return NotUpdated(
            Why.ARCHITECTURE_DIFFERS,
            f"{image['name']} is not for {request.architecture}; "
            "set the architecture in the machine set's autoscaler annotation",
        )
    return BootImage(reference=reference, value=reference)


def _boot_disks(spec: Mapping[str, Any]) -> list[tuple[Path, Any]]:
    disks = spec.get("disks")
    return [
        (("disks", index, "image"), disk.get("image"))
        for index, disk in enumerate(disks if isinstance(disks, list) else ())
        if isinstance(disk, dict) and disk.get("boot") is True
    ]


def _is_ours(request: TargetRequest, image: re.Match[str] | None, project: str) -> bool:
    """It is in the stream's project, or an installer until 4.6 copied it for this cluster."""
    if image is None:
        return False
    installed = f"{request.infrastructure_name}-rhcos-image"
    is_installed = bool(request.infrastructure_name) and image["name"] == installed
    return image["project"] == project or is_installed


def _architecture(image_name: str) -> str | None:
    """The architecture in the name; None if the name has none."""
    found = (rpm for suffix, rpm in _ARCHITECTURES.items() if image_name.endswith(f"-{suffix}"))
    return next(found, None)
