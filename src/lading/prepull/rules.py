"""Which Images are held, by which container, and whether pre-pulling is on. Pure."""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from lading.api.longhorn import SETTING_NAME, Image, Setting
from lading.kernel import conditions, references
from lading.kernel.conditions import Truth
from lading.kernel.errors import Malformed
from lading.prepull import holder
from lading.prepull.types import (
    CONTAINERS_MAX,
    LIST_LABEL,
    DefaultImage,
    EnabledBy,
    Enablement,
    ImageReason,
    PrePullProblem,
)

PRE_PULL_ENABLED = "PrePullEnabled"
DEPLOYED = "Deployed"
HELD_AS_IMAGE_VOLUME = "HeldAsImageVolume"
_VALUES = {"true": True, "false": False}
_HASH_CHARACTERS = 8


class Cargo(msgspec.Struct, frozen=True, kw_only=True):
    """The images to hold, oldest Image first, and the problems of the others."""

    urls: tuple[str, ...] = ()
    owners: tuple[Image, ...] = ()
    problems: Mapping[str, PrePullProblem] = {}
    """By the name of the Image."""


def listed_name(listed: DefaultImage) -> str:
    digest = hashlib.sha256(listed.url.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{listed.name}-{digest}"


def listed_by_name(listed: Iterable[DefaultImage]) -> dict[str, DefaultImage]:
    return {listed_name(one): one for one in listed}


def is_outdated(image: Image, listed: Iterable[DefaultImage]) -> bool:
    """Whether the Image came from the list, and is no longer in it."""
    return LIST_LABEL in image.metadata.labels and image.metadata.name not in listed_by_name(listed)


def cargo(images: Iterable[Image], listed: Iterable[DefaultImage]) -> Cargo:
    """Without Images that are being deleted or that left the list."""
    entries = tuple(listed)
    urls: dict[str, None] = {}
    owners: list[Image] = []
    problems: dict[str, PrePullProblem] = {}
    for image in sorted(images, key=_age):
        if image.metadata.deletion_timestamp or is_outdated(image, entries):
            continue
        problem = _problem(image) or _too_many(image, urls)
        if problem:
            problems[image.metadata.name] = problem
        else:
            urls[image.spec.url] = None
            owners.append(image)
    return Cargo(urls=tuple(urls), owners=tuple(owners), problems=problems)


def _age(image: Image) -> tuple[str, str]:
    return image.metadata.creation_timestamp, image.metadata.name


def _problem(image: Image) -> PrePullProblem | None:
    spec = image.spec
    if bool(spec.image_url) == bool(spec.instance_manager_image):
        message = "spec: exactly one of imageURL and instanceManagerImage must be set"
        return PrePullProblem(why=ImageReason.INVALID_IMAGE, message=message)
    name = "imageURL" if spec.image_url else "instanceManagerImage"
    try:
        references.parse(spec.url)
    except Malformed as error:
        return PrePullProblem(why=ImageReason.INVALID_IMAGE, message=f"spec.{name}: {error}")
    return None


def _too_many(image: Image, urls: Mapping[str, None]) -> PrePullProblem | None:
    if image.spec.url in urls or len(urls) < CONTAINERS_MAX:
        return None
    message = (
        f"{CONTAINERS_MAX} older Images are held, which is the maximum. Delete an Image that is "
        "not needed."
    )
    return PrePullProblem(why=ImageReason.TOO_MANY_IMAGES, message=message)


def enablement(
    setting: Setting | None,
    images: Iterable[Image],
    *,
    gate_is_on: bool,
    default: bool,
    refusal: str,
) -> Enablement:
    """With an invalid value, pre-pulling stays on or off as it was."""
    if not gate_is_on:
        message = "The feature gate PrePull is off."
        return Enablement(is_on=False, by=EnabledBy.FEATURE_GATE_OFF, message=message)
    if setting is None:
        return _without_setting(default, refusal)
    if setting.value in _VALUES:
        message = f"Setting {SETTING_NAME} is {setting.value!r}."
        return Enablement(is_on=_VALUES[setting.value], by=EnabledBy.SETTING, message=message)
    before = _before(images)
    message = (
        f"Setting {SETTING_NAME}: value must be 'true' or 'false', not {setting.value!r}. "
        "Nothing changes until the value is valid."
    )
    is_on = default if before is None else before
    return Enablement(is_on=is_on, by=EnabledBy.SETTING_INVALID, message=message)


def _without_setting(default: bool, refusal: str) -> Enablement:
    flag = f"--prepull-default={str(default).lower()} of the controller decides"
    if refusal:
        message = f"Setting {SETTING_NAME} cannot be created, so {flag}: {refusal}"
        return Enablement(is_on=default, by=EnabledBy.SETTING_REFUSED, message=message)
    message = f"Setting {SETTING_NAME} does not exist yet, so {flag}."
    return Enablement(is_on=default, by=EnabledBy.SETTING_MISSING, message=message)


def _before(images: Iterable[Image]) -> bool | None:
    """Whether it was on, as the status of the Images shows."""
    for image in sorted(images, key=_age):
        found = conditions.find(image.status.conditions, PRE_PULL_ENABLED)
        if found is not None and found.reason != EnabledBy.FEATURE_GATE_OFF:
            return found.status is Truth.TRUE
    return None


def container_of(image: Image) -> str:
    return holder.container_name(image.spec.url)
