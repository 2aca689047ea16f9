"""The history of a machine set: what is added, what is kept, and what it proves. Pure.

An entry is written before each patch, so no image is lost. The entry also has the image that the
patch will set, so that after a crash Lading knows that the new image is its own.
"""

import hashlib
from datetime import datetime
from typing import Any

import msgspec

from lading.api.machineconfiguration.boot_image_history import (
    DETAILS_MAX,
    BootImageHistoryDetail,
    IntendedBootImage,
    MachineSetBootImageHistorySpec,
    PatchCount,
    SetBy,
)
from lading.boot_images.platforms.types import Api, BootImage
from lading.kernel import conditions
from lading.kernel.objects import Key
from lading.kernel.values import replace

NAME_CHARACTERS_MAX = 253
PATCHES_MAX = 2  # to one value; another writer restored its own each time
_PREFIXES = {Api.MACHINE: "machine", Api.CLUSTER: "cluster"}


class WantedPatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a patch would make of a machine set."""

    value: dict[str, Any]
    """The image field with its exact value."""
    secret: str
    generation: int
    """Of the machine set as it is now; 0 if it is not known."""
    is_retry: bool = False
    """The API server did not apply the last patch."""


def name_of(api: Api, key: Key) -> str:
    """It is unique, because a namespace has no dot. A long name ends with its digest."""
    whole = f"{_PREFIXES[api]}.{key.namespace}.{key.name}"
    if len(whole) <= NAME_CHARACTERS_MAX:
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
    return f"{whole[: NAME_CHARACTERS_MAX - 17].rstrip('.-')}-{digest}"


def empty(api: Api, key: Key) -> MachineSetBootImageHistorySpec:
    return MachineSetBootImageHistorySpec(
        machine_set_name=key.name, machine_set_namespace=key.namespace, machine_set_api_group=api
    )


def with_observed(
    spec: MachineSetBootImageHistorySpec,
    *,
    field: str,
    image: BootImage,
    secret: str,
    is_of_stream: bool,
    now: datetime,
) -> MachineSetBootImageHistorySpec:
    """With an entry for the observed image and stub, if they differ from the last entry."""
    value = {field: image.value}
    intended = spec.intended
    is_ours = intended is not None and (intended.boot_image, intended.stub_secret_ref) == (
        value,
        secret,
    )
    last = spec.details[-1] if spec.details else None
    if is_ours:
        spec = replace(spec, intended=None)
    if last is not None and (last.boot_image, last.stub_secret_ref) == (value, secret):
        return _proven(spec, last) if is_of_stream and last.set_by is SetBy.OTHER else spec
    found_by = SetBy.STREAM if is_of_stream else SetBy.OTHER
    set_by = intended.set_by if is_ours and intended is not None else found_by
    entry = BootImageHistoryDetail(
        index=last.index + 1 if last is not None else 0,
        updated_time=conditions.timestamp(now),
        boot_image_ref=image.reference[:1024],
        stub_secret_ref=secret,
        boot_image=value,
        set_by=set_by,
    )
    return replace(spec, details=_kept((*spec.details, entry)))


def _proven(
    spec: MachineSetBootImageHistorySpec, last: BootImageHistoryDetail
) -> MachineSetBootImageHistorySpec:
    """The image was observed before its set was enrolled, and is now found in the stream."""
    proven = replace(last, set_by=SetBy.STREAM)
    return replace(spec, details=(*spec.details[:-1], proven))


def with_intention(
    spec: MachineSetBootImageHistorySpec, wanted: WantedPatch, *, image: BootImage
) -> MachineSetBootImageHistorySpec:
    """Written before the patch, so a patch is counted even if Lading is killed after it."""
    intended = IntendedBootImage(
        boot_image_ref=image.reference[:1024],
        stub_secret_ref=wanted.secret,
        boot_image=wanted.value,
        set_by=SetBy.LADING_MARKETPLACE if image.is_of_marketplace else SetBy.LADING,
    )
    patched = PatchCount(
        boot_image=wanted.value,
        stub_secret_ref=wanted.secret,
        times=patches(spec, wanted) + 1,
        generation=wanted.generation,
        resumed_time=spec.resumed_time,
    )
    return replace(spec, intended=intended, patched=patched)


def proves(spec: MachineSetBootImageHistorySpec, value: dict[str, Any]) -> bool:
    """A stream had this image, or Lading set it. An image of a paid product proves nothing."""
    entries = (*spec.details, *((spec.intended,) if spec.intended is not None else ()))
    proven = (SetBy.STREAM, SetBy.LADING)
    return value in (one.boot_image for one in entries if one.set_by in proven)


def patches(spec: MachineSetBootImageHistorySpec, wanted: WantedPatch) -> int:
    """How often Lading patched the machine set to this value since updates were resumed.

    The last patch does not count if it was not applied: the API server said so, or the machine set
    still has the generation from before it.
    """
    last = spec.patched
    if last is None or last.resumed_time != spec.resumed_time:
        return 0
    if (last.boot_image, last.stub_secret_ref) != (wanted.value, wanted.secret):
        return 0
    is_unchanged = last.generation == wanted.generation != 0
    return last.times - 1 if wanted.is_retry or is_unchanged else last.times


def _kept(details: tuple[BootImageHistoryDetail, ...]) -> tuple[BootImageHistoryDetail, ...]:
    """The first entry, which the installer made, and the last 20."""
    return details if len(details) <= DETAILS_MAX else (details[0], *details[1 - DETAILS_MAX :])
