"""Platforms where a person uploads the image; the verdict names it. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from lading.boot_images.platforms.types import (
    Api,
    BootImage,
    CurrentImage,
    Path,
    TargetRequest,
    no_image,
    object_at,
)
from lading.boot_images.verdicts import NotUpdated, Why


class ManualPlatform(msgspec.Struct, frozen=True, kw_only=True):
    """`fields` are the paths of a spec that may hold the image; `artifact` is what to upload."""

    name: str
    fields: tuple[Path, ...]
    artifact: str = ""
    format: str = ""
    user_data_bytes_max: int | None = None

    def present(self, api: Api, spec: Mapping[str, Any]) -> CurrentImage | NotUpdated:
        for path in self.fields:
            value: Any = spec
            for step in path:
                value = object_at({"": value}, "").get(str(step))
            if value:
                return CurrentImage(path=path, image=BootImage(reference=_line(value), value=value))
        return NotUpdated(Why.IMAGE_UNREADABLE, "the machine spec names no image that can be read")

    def target(self, request: TargetRequest) -> NotUpdated:
        location, release = self._upload(request)
        if not location:
            return no_image(request, self.name)
        return NotUpdated(
            Why.PLATFORM_MANUAL,
            f"{self.name} images are uploaded by hand: upload {location} (release {release}), "
            "then name it in the machine set",
        )

    def _upload(self, request: TargetRequest) -> tuple[str, str]:
        if self.name == "PowerVS":
            regions = ("images", "powervs", "regions", request.region)
            return request.text(*regions, "url"), request.text(*regions, "release")
        artifact = ("artifacts", self.artifact)
        location = request.text(*artifact, "formats", self.format, "disk", "location")
        return location, request.text(*artifact, "release")


def _line(value: Any) -> str:
    if isinstance(value, dict):
        named = (value.get(key) for key in ("name", "uuid", "id", "regex", "url"))
        value = next((one for one in named if isinstance(one, str) and one), "")
    return value if isinstance(value, str) else ""


VSPHERE = ManualPlatform(name="vSphere", fields=(("template",),), artifact="vmware", format="ova")
OPENSTACK = ManualPlatform(
    name="OpenStack",
    fields=(("image",), ("rootVolume", "sourceUUID")),
    artifact="openstack",
    format="qcow2.gz",
)
NUTANIX = ManualPlatform(name="Nutanix", fields=(("image",),), artifact="nutanix", format="qcow2")
POWERVS = ManualPlatform(name="PowerVS", fields=(("image",),))
BARE_METAL = ManualPlatform(name="BareMetal", fields=(("image",),), artifact="metal", format="iso")
