"""Compares sets with those of a cluster, with sizes from the registries; changes nothing."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lading.adapters.journal import FileJournal
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.objects import Key
from lading.kernel.platforms import Platform
from lading.pinned_images import set_diff
from lading.pinned_images.set_diff import SetDiff, Sizes
from lading.ports.clock import Clock
from lading.wiring import cluster_pull_secrets, planned_images
from lading.wiring.cluster_preview import platform_of
from lading.wiring.host import machine_platform
from lading.wiring.registries import CredentialSettings, open_registries


async def diffs(
    client: KubeClient,
    edited: Sequence[PinnedImageSet],
    clock: Clock,
    *,
    journal: Path,
    pull_secrets: Sequence[Key],
) -> tuple[list[SetDiff], Sizes]:
    secrets = await cluster_pull_secrets.read(client, pull_secrets)
    before = [one async for one in client.each(PINNED_IMAGE_SETS)]
    found = set_diff.diffs(before, edited)
    platform = await _usual_platform(client)
    names = {one.metadata.name for one in edited}
    compared = (*(one for one in before if one.metadata.name in names), *edited)
    settings = CredentialSettings(pull_secrets=secrets)
    async with open_registries(clock, settings=settings) as registries:
        images = planned_images.of(
            registries.client, clock, FileJournal(journal), platform_of=lambda handler: platform
        )
        try:
            await images.resolve(set_diff.images_of(compared))
        finally:
            await images.close()
    return found, set_diff.sizes(before, edited, found, images.resolutions())


async def _usual_platform(client: KubeClient) -> Platform:
    """That of most nodes; without any, this machine's."""
    counts = Counter([platform_of(node) async for node in client.each(NODES)])
    return max(counts, key=lambda one: counts[one], default=machine_platform())
