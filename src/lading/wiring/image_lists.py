"""Resolves images of files, of the pods of a cluster and of a release to digests."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.api.core import PODS, Pod
from lading.kernel import references
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.pinned_images.authoring import image_digests, release_payload
from lading.pinned_images.authoring.image_digests import ImageDigests, Unresolved
from lading.ports.clock import Clock
from lading.ports.kube import Selection
from lading.wiring.host import machine_platform
from lading.wiring.registries import CredentialSettings, named_pull_secrets, open_registries


class PodSelection(msgspec.Struct, frozen=True, kw_only=True):
    namespaces: tuple[str, ...] = ()
    """Empty means all."""
    label_selector: str = ""


async def resolved(
    clock: Clock,
    found_in: Mapping[str, str],
    *,
    client: KubeClient | None,
    pods: PodSelection | None,
    release: str,
    pull_secrets: Sequence[Key],
    show: Callable[[str], None],
) -> ImageDigests:
    """Pods and pull secrets need a client. `found_in`: other images, and where each was found."""
    images = dict(found_in)
    problems: list[Unresolved] = []
    secrets = await named_pull_secrets(client, pull_secrets) if client else []
    if pods is not None:
        assert client is not None, "pods need a cluster"
        for one in image_digests.running_images([pod async for pod in _pods(client, pods)]):
            if one.problem:
                problems.append(
                    Unresolved(image=one.image, found_in=one.found_in, reason=one.problem)
                )
            else:
                images.setdefault(one.image, one.found_in)
    settings = CredentialSettings(pull_secrets=secrets)
    async with open_registries(clock, settings=settings) as registries:
        if release:
            show(f"reading {release}")
            platform = replace(machine_platform(), os="linux")
            reference = references.qualified(release)
            for image in await release_payload.images(registries.client, reference, platform):
                images.setdefault(image, release)
        found = await image_digests.resolved(
            registries.client,
            images,
            show=lambda count: show(f"resolved {count} of {len(images)} images"),
        )
    return replace(found, unresolved=(*problems, *found.unresolved))


async def _pods(client: KubeClient, selection: PodSelection) -> AsyncIterator[Pod]:
    for namespace in selection.namespaces or ("",):
        chosen = Selection(namespace=namespace, label_selector=selection.label_selector)
        async for pod in client.each(PODS, chosen):
            yield pod
