"""Makes sure that an image is on the node for a runtime handler, as the kubelet does for a pod.

A runtime that keeps images by handler is simply asked. One that ignores handlers gets the manifest
for the handler's guest platform by its digest: it is then on the node, and pods of that runtime
class must name the digest, because the tag still means the host's image.
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
from lading.runtime_images import handlers, state
from lading.runtime_images.errors import NeverPulled
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import DigestPull


class PullPolicy(StrEnum):
    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class Delivery(StrEnum):
    """In which way the image is there for the handler."""

    DEFAULT = "default"
    """For the host, as always; no handler was asked for."""
    BY_HANDLER = "by-handler"
    """The runtime keeps it for the handler; pods name it as ever."""
    BY_DIGEST = "by-digest"
    """The runtime ignores handlers; pods must name the digest."""
    HOST_ONLY = "host-only"
    """The runtime ignores handlers and no guest platform is declared: it is the host's image."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    runtime_handler: str = ""
    pull_policy: PullPolicy = PullPolicy.IF_NOT_PRESENT
    credential: Credential | None = None
    annotations: Mapping[str, str] = {}


class Ensured(msgspec.Struct, frozen=True, kw_only=True):
    image_id: str
    pulled: bool
    delivery: Delivery
    named: str
    """What a pod of that runtime class must write as its image."""


class ImageNode(msgspec.Struct, frozen=True, kw_only=True):
    """Where images are ensured: the runtime, its registries, the state file and the guests."""

    runtime: Cri
    registry: Registry
    state: ImageStateFile
    guests: Mapping[str, Platform]


async def ensure(wanted: Wanted, node: ImageNode) -> Ensured:
    reference = references.qualified(wanted.image)
    if not wanted.runtime_handler:
        return await _present(wanted, node, str(reference), Delivery.DEFAULT)
    if await handlers.are_honoured(node.runtime):
        return await _present(wanted, node, str(reference), Delivery.BY_HANDLER)
    platform = node.guests.get(wanted.runtime_handler)
    if platform is None:
        return await _present(wanted, node, str(reference), Delivery.HOST_ONLY)
    pull = await _digest_pull(wanted, node, reference, platform)
    ensured = await _present(wanted, node, pull.pulled, Delivery.BY_DIGEST)
    await node.state.save_digest_pull(pull)
    return ensured


async def _present(wanted: Wanted, node: ImageNode, name: str, delivery: Delivery) -> Ensured:
    """The policy as the kubelet reads it: Always asks nothing first, Never pulls nothing."""
    spec = ImageSpec(
        image=name,
        runtime_handler=wanted.runtime_handler,
        annotations=wanted.annotations,
        user_specified_image=wanted.image,
    )
    if wanted.pull_policy is not PullPolicy.ALWAYS:
        found = await node.runtime.image(spec)
        if found is not None:
            return Ensured(image_id=found.id, pulled=False, delivery=delivery, named=name)
    if wanted.pull_policy is PullPolicy.NEVER:
        raise _never_pulled(wanted)
    image_id = await node.runtime.pull(spec, wanted.credential)
    return Ensured(image_id=image_id, pulled=True, delivery=delivery, named=name)


async def _digest_pull(
    wanted: Wanted, node: ImageNode, reference: Reference, platform: Platform
) -> DigestPull:
    """The earlier one while the policy allows it, else what the registry has now."""
    if wanted.pull_policy is not PullPolicy.ALWAYS:
        known = await _known_digest_pull(wanted, node, reference, platform)
        if known is not None:
            return known
    if wanted.pull_policy is PullPolicy.NEVER:
        raise _never_pulled(wanted)
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


async def _known_digest_pull(
    wanted: Wanted, node: ImageNode, reference: Reference, platform: Platform
) -> DigestPull | None:
    """Only while its image is on the node, and the handler's guests are still the same."""
    known = state.newest_digest_pull(
        (await node.state.load()).digest_pulls,
        reference=str(reference),
        runtime_handler=wanted.runtime_handler,
    )
    if known is None or known.platform != str(platform):
        return None
    spec = ImageSpec(image=known.pulled, runtime_handler=wanted.runtime_handler)
    return known if await node.runtime.image(spec) else None


def _never_pulled(wanted: Wanted) -> NeverPulled:
    handler = f" for runtime handler {wanted.runtime_handler}" if wanted.runtime_handler else ""
    message = f"{wanted.image} is not on the node{handler}, and the pull policy is Never"
    return NeverPulled(message)
