"""Platforms where a person uploads the image first; the target is named. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from lading.boot_images.platforms.types import (
    Api,
    BootImage,
    CurrentImage,
    Path,
    Question,
    no_image,
    object_at,
)
from lading.boot_images.verdicts import Manual, Skipped, Why


class ManualPlatform(msgspec.Struct, frozen=True, kw_only=True):
    """`fields` are where a machine spec may name its image; `artifact` is what is to upload."""

    name: str
    fields: tuple[Path, ...]
    artifact: str = ""
    format: str = ""
    user_data_bytes_max: int | None = None

    def present(self, api: Api, spec: Mapping[str, Any]) -> CurrentImage:
        for path in self.fields:
            value: Any = spec
            for step in path:
                value = object_at({"": value}, "").get(str(step))
            if value:
                return CurrentImage(path=path, image=BootImage(reference=_line(value), value=value))
        raise Skipped(Why.IMAGE_UNREADABLE, "the machine spec names no image that can be read")

    def target(self, question: Question) -> BootImage:
        location, release = self._upload(question)
        if not location:
            raise no_image(question, self.name)
        raise Manual(
            f"{self.name} images are uploaded by hand: upload {location} (release {release}), "
            "then name it in the machine set"
        )

    def _upload(self, question: Question) -> tuple[str, str]:
        if self.name == "PowerVS":
            regions = ("images", "powervs", "regions", question.region)
            return question.text(*regions, "url"), question.text(*regions, "release")
        artifact = ("artifacts", self.artifact)
        location = question.text(*artifact, "formats", self.format, "disk", "location")
        return location, question.text(*artifact, "release")


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
