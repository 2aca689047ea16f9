"""Azure: a marketplace image, or one that the installer uploaded. Pure.

The generation of the virtual machine never changes, because another one would not boot. The
purchase plan never changes, because another one would bill another product.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

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

name = "Azure"
user_data_bytes_max: int | None = 65_535  # custom data, before base64
FREE = "no-purchase-plan"
FREE_PUBLISHER = "azureopenshift"
PLANS = {"rh-ocp-worker": "ocp", "rh-opp-worker": "opp", "rh-oke-worker": "oke"}
EMEA = {"redhat": "", "redhat-limited": "-emea"}
MARKETPLACE = ("publisher", "offer", "sku", "version")
FIRST, SECOND = "hyperVGen1", "hyperVGen2"
_RESOURCE = re.compile(
    r"(?:/subscriptions/[^/]+)?/resourceGroups/[^/]+/providers/Microsoft\.Compute/"
    r"(?:galleries/(?P<gallery>[^/]+)/)?images/(?P<name>[^/]+)(?:/versions/[^/]+)?",
    re.IGNORECASE,
)


class _Image(msgspec.Struct, frozen=True, kw_only=True):
    """The image of either API: a resource, or the four Marketplace fields."""

    resource: str
    marketplace: tuple[str, str, str, str]

    @property
    def reference(self) -> str:
        return self.resource or ":".join(self.marketplace)


def present(api: Api, spec: Mapping[str, Any]) -> CurrentImage | NotUpdated:
    image = object_at(spec, "image")
    found = _read(api, image)
    if not found.resource and not any(found.marketplace):
        return NotUpdated(Why.IMAGE_UNREADABLE, "the machine spec names no image that can be read")
    return CurrentImage(path=("image",), image=BootImage(reference=found.reference, value=image))


def target(request: TargetRequest) -> BootImage | NotUpdated:
    security = object_at(request.spec, "securityProfile")
    if security.get("securityType") or object_at(security, "settings").get("securityType"):
        return NotUpdated(
            Why.SECURITY_TYPE, "confidential and trusted launch machines are not updated"
        )
    image = _read(request.api, object_at(request.spec, "image"))
    variant = _variant(request, image)
    if isinstance(variant, NotUpdated):
        return variant
    if not _has_architecture(request, image):
        message = f"SKU {image.marketplace[2]} is not for {request.architecture}"
        return NotUpdated(Why.ARCHITECTURE_DIFFERS, message)
    generation = _generation(request, image)
    if generation is None:
        message = f"the generation of {image.reference} is not known; name a Marketplace image"
        return NotUpdated(Why.GENERATION_UNKNOWN, message)
    new = tuple(
        request.text("rhel-coreos-extensions", "marketplace", "azure", variant, generation, key)
        for key in MARKETPLACE
    )
    if not all(new):
        return no_image(request, f"{name} {variant} {generation}")
    value = _value(request, new, is_free=variant == FREE)
    if _is_same(value, request.present.image.value):
        return request.present.image
    return BootImage(reference=":".join(new), value=value)


def _read(api: Api, image: Mapping[str, Any]) -> _Image:
    names = image if api is Api.MACHINE else object_at(image, "marketplace")
    publisher, offer, sku, version = (text_at(names, key) for key in MARKETPLACE)
    resource = text_at(image, "resourceID" if api is Api.MACHINE else "id")
    return _Image(resource=resource, marketplace=(publisher, offer, sku, version))


def _variant(request: TargetRequest, image: _Image) -> str | NotUpdated:
    publisher, offer, _, _ = image.marketplace
    if image.resource:
        if request.is_vouched_for or _is_installed(request, image.resource):
            return FREE
        return not_ours(request, "an image that the installer uploaded for this cluster")
    if publisher == FREE_PUBLISHER:
        return FREE
    if publisher in EMEA and offer in PLANS:
        return PLANS[offer] + EMEA[publisher]
    if offer:
        return NotUpdated(
            Why.PURCHASE_PLAN,
            f"{image.reference} belongs to another Marketplace product; it is not changed",
        )
    return not_ours(request, "a Marketplace image of Red Hat")


def _is_installed(request: TargetRequest, resource: str) -> bool:
    """Installers upload images under these names; the subscription may come first."""
    infra, found = request.infrastructure_name, _RESOURCE.fullmatch(resource)
    if not infra or found is None:
        return False
    if found["gallery"] is None:
        return found["name"] == infra
    gallery = f"gallery_{infra.replace('-', '_')}"
    return found["gallery"] == gallery and found["name"] in (infra, f"{infra}-gen2")


def _generation(request: TargetRequest, image: _Image) -> str | None:
    """From the name of the image or from its SKU only. None if that does not tell it."""
    publisher, offer, sku, _ = image.marketplace
    if image.resource:
        found = _RESOURCE.fullmatch(image.resource)
        if found is None or found["name"] == request.infrastructure_name:
            return FIRST if found else None
        return {"-gen1": FIRST, "-gen2": SECOND}.get(found["name"][-5:])
    if publisher == FREE_PUBLISHER:
        base, _, suffix = sku.partition("-")
        return {"": FIRST, "v2": SECOND, "arm": SECOND}.get(suffix) if base else None
    return {offer: SECOND, f"{offer}-gen1": FIRST}.get(sku)


def _has_architecture(request: TargetRequest, image: _Image) -> bool:
    """Only the free images have one for ARM, and its SKU says so."""
    is_free = image.marketplace[0] == FREE_PUBLISHER
    is_arm = "arm" in image.marketplace[2]
    return not is_free or is_arm == (request.architecture == "aarch64")


def _value(request: TargetRequest, new: tuple[str, ...], *, is_free: bool) -> dict[str, Any]:
    names = dict(zip(MARKETPLACE, new, strict=True))
    if request.api is Api.CLUSTER:
        return {"marketplace": {**names, "thirdPartyImage": not is_free}}
    kind = "MarketplaceNoPlan" if is_free else "MarketplaceWithPlan"
    return {**names, "resourceID": "", "type": kind}


def _is_same(new: dict[str, Any], old: Any) -> bool:
    """An absent field means the same as an empty one."""
    return isinstance(old, dict) and _without_empty(new) == _without_empty(old)


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_empty(one) if isinstance(one, dict) else one
        for key, one in value.items()
        if one
    }
