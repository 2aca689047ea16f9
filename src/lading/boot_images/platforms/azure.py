"""Azure: a marketplace image, or one that the installer uploaded. Pure.

Neither the generation of the virtual machine nor the purchase plan ever changes: the first would
not boot and the second would bill another product.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

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

name = "Azure"
user_data_bytes_max: int | None = 65_535  # custom data, before base64
FREE = "no-purchase-plan"
FREE_PUBLISHER = "azureopenshift"
PLANS = {"rh-ocp-worker": "ocp", "rh-opp-worker": "opp", "rh-oke-worker": "oke"}
EMEA = {"redhat": "", "redhat-limited": "-emea"}
MARKETPLACE = ("publisher", "offer", "sku", "version")


class _Image(msgspec.Struct, frozen=True, kw_only=True):
    """The image in the terms of both APIs: by resource, or by the four marketplace fields."""

    resource: str
    marketplace: tuple[str, str, str, str]

    @property
    def reference(self) -> str:
        return self.resource or ":".join(self.marketplace)


def present(api: Api, spec: Mapping[str, Any]) -> CurrentImage:
    image = object_at(spec, "image")
    found = _read(api, image)
    if not found.resource and not any(found.marketplace):
        raise Skipped(Why.IMAGE_UNREADABLE, "the machine spec names no image that can be read")
    return CurrentImage(path=("image",), image=BootImage(reference=found.reference, value=image))


def target(question: Question) -> BootImage:
    security = object_at(object_at(question.spec, "securityProfile"), "settings")
    if security.get("securityType") or object_at(question.spec, "securityProfile").get(
        "securityType"
    ):
        raise Skipped(Why.SECURITY_TYPE, "confidential and trusted launch machines are not updated")
    image = _read(question.api, object_at(question.spec, "image"))
    variant = _variant(question, image)
    generation = _generation(question, image, variant)
    _keeps_architecture(question, image)
    new = tuple(
        question.text("rhel-coreos-extensions", "marketplace", "azure", variant, generation, key)
        for key in MARKETPLACE
    )
    if not all(new):
        raise no_image(question, f"{name} {variant} {generation}")
    value = _value(question, new, is_free=variant == FREE)
    if _is_same(value, question.present.image.value):
        return question.present.image
    return BootImage(reference=":".join(new), value=value)


def _read(api: Api, image: Mapping[str, Any]) -> _Image:
    names = image if api is Api.MACHINE else object_at(image, "marketplace")
    publisher, offer, sku, version = (text_at(names, key) for key in MARKETPLACE)
    resource = text_at(image, "resourceID" if api is Api.MACHINE else "id")
    return _Image(resource=resource, marketplace=(publisher, offer, sku, version))


def _variant(question: Question, image: _Image) -> str:
    publisher, offer, _, _ = image.marketplace
    if image.resource:
        if question.is_vouched_for or _is_installed(question, image.resource):
            return FREE
        raise not_ours(question, "an image that the installer uploaded for this cluster")
    if publisher == FREE_PUBLISHER:
        return FREE
    if publisher in EMEA and offer in PLANS:
        return PLANS[offer] + EMEA[publisher]
    if offer:
        raise Skipped(
            Why.PURCHASE_PLAN,
            f"{image.reference} belongs to another Marketplace product; it is not changed",
        )
    raise not_ours(question, "a Marketplace image of Red Hat")


def _is_installed(question: Question, resource: str) -> bool:
    """The names that installers gave to what they uploaded; the subscription may come first."""
    infra = question.infrastructure_name
    if not infra:
        return False
    parts = resource.strip("/").split("/")
    if "galleries" in parts:
        gallery = f"gallery_{infra.replace('-', '_')}"
        return gallery in parts and bool({infra, f"{infra}-gen2"} & set(parts))
    return parts[-2:] == ["images", infra]


def _generation(question: Question, image: _Image, variant: str) -> str:
    sku = image.marketplace[2]
    if image.resource:
        is_second = "gen2" in image.resource
    elif variant == FREE:
        is_second = "v2" in sku or question.architecture == "aarch64"
    else:
        is_second = "gen1" not in sku
    return "hyperVGen2" if is_second else "hyperVGen1"


def _keeps_architecture(question: Question, image: _Image) -> None:
    """Only the free images have one for ARM, and its SKU says so."""
    is_free = image.marketplace[0] == FREE_PUBLISHER
    is_arm = "arm" in image.marketplace[2]
    if is_free and is_arm != (question.architecture == "aarch64"):
        raise Skipped(
            Why.ARCHITECTURE_DIFFERS,
            f"SKU {image.marketplace[2]} is not for {question.architecture}",
        )


def _value(question: Question, new: tuple[str, ...], *, is_free: bool) -> dict[str, Any]:
    names = dict(zip(MARKETPLACE, new, strict=True))
    if question.api is Api.CLUSTER:
        return {"marketplace": {**names, "thirdPartyImage": not is_free}}
    kind = "MarketplaceNoPlan" if is_free else "MarketplaceWithPlan"
    return {**names, "resourceID": "", "type": kind}


def _is_same(new: dict[str, Any], old: Any) -> bool:
    """Where a field is absent, its empty value means the same."""
    return isinstance(old, dict) and _without_empty(new) == _without_empty(old)


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_empty(one) if isinstance(one, dict) else one
        for key, one in value.items()
        if one
    }
