"""Pulls an image for a runtime handler, as the kubelet does for a pod.

A runtime that keeps images by handler pulls it by its name. A runtime that ignores handlers pulls
the manifest for the guest platform by its digest. Pods of that runtime class must then name the
digest, because the tag means the host's image.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from lading.kernel import references
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports import platform_image
from lading.ports.cri import Cri, ImageSpec
from lading.ports.registry import Credential, Registry
from lading.runtime_images import handlers
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import DigestPull


class Delivery(StrEnum):
    """How the image is on the node for the handler."""

    DEFAULT = "default"
    """For the host; no handler was named."""
    BY_HANDLER = "by-handler"
    """The runtime keeps it for the handler; pods use its usual name."""
    BY_DIGEST = "by-digest"
    """The runtime ignores handlers; pods must name the digest."""
    HOST_ONLY = "host-only"
    """The runtime ignores handlers and no guest platform is declared, so it is the host's image."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    runtime_handler: str = ""
    credential: Credential | None = None


class Ensured(msgspec.Struct, frozen=True, kw_only=True):
    image_id: str
    delivery: Delivery
    named: str
    """The image name for a pod of that runtime class."""


class ImageNode(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime of a node, its registries, its state file and its guests."""

    runtime: Cri
    registry: Registry
    state: ImageStateFile
    guests: Mapping[str, Platform]


async def ensure(wanted: Wanted, node: ImageNode) -> Ensured:
    reference = references.qualified(wanted.image)
    if not wanted.runtime_handler:
        return await _pulled(wanted, node, str(reference), Delivery.DEFAULT)
    await handlers.require_known(node.runtime, wanted.runtime_handler)
    if await handlers.are_honoured(node.runtime):
        return await _pulled(wanted, node, str(reference), Delivery.BY_HANDLER)
    platform = node.guests.get(wanted.runtime_handler)
    if platform is None:
        return await _pulled(wanted, node, str(reference), Delivery.HOST_ONLY)
    pull = await _digest_pull(wanted, node, reference, platform)
    ensured = await _pulled(wanted, node, pull.pulled, Delivery.BY_DIGEST)
    await node.state.save_digest_pull(pull)
    return ensured


async def _pulled(wanted: Wanted, node: ImageNode, name: str, delivery: Delivery) -> Ensured:
    spec = ImageSpec(
        image=name,
        runtime_handler=wanted.runtime_handler,
        user_specified_image=wanted.image,
    )
    image_id = await node.runtime.pull(spec, wanted.credential)
    return Ensured(image_id=image_id, delivery=delivery, named=name)


async def _digest_pull(
    wanted: Wanted, node: ImageNode, reference: Reference, platform: Platform
) -> DigestPull:
    registry = node.registry
    if wanted.credential is not None:
        registry = registry.with_credential(wanted.credential)
    resolution = await platform_image.resolve(registry, reference, platform, for_guest=True)
    return DigestPull(
        reference=str(reference),
        runtime_handler=wanted.runtime_handler,
        platform=str(platform),
        pulled=resolution.manifest,
    )
