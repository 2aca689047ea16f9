"""`lading pin plan` and `lading pin diff` on a cluster: what sets would change. Only reads.

Sizes come from the registries, free space from the kubelets.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from lading.adapters.kube import kubelet_proxy
from lading.adapters.kube.client import KubeClient
from lading.adapters.state_files import FileJournal
from lading.api.core import NODES, RUNTIME_CLASSES, Node, RuntimeClass
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.feature_gates import Gates
from lading.kernel.objects import Key, Model, Object, Resource
from lading.kernel.platforms import Platform, normalised
from lading.kernel.values import replace
from lading.pinned_images.authoring import set_changes
from lading.pinned_images.authoring.set_changes import SetDiff, Sizes
from lading.pinned_images.cluster import preview
from lading.pinned_images.cluster.preview import ClusterObjects, NodeFacts
from lading.pinned_images.node import preview as node_preview
from lading.pinned_images.node import rules
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import Desired, PinSettings
from lading.ports.clock import Clock
from lading.ports.node import KubeletLimits, Space
from lading.ports.registry import Registry
from lading.runtime_images import handlers
from lading.wiring import planned_images
from lading.wiring.host import machine_platform
from lading.wiring.planned_images import PlannedImages
from lading.wiring.registries import (
    CredentialSettings,
    credentials_of,
    named_pull_secrets,
    open_registries,
)


class _Image(Model, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()


class _Status(Model, frozen=True, kw_only=True):
    images: tuple[_Image, ...] = ()


class _NodeImages(Object, frozen=True, kw_only=True):
    """A Node with its list of images, which the usual type leaves out to save memory."""

    status: _Status = _Status()


_NODE_IMAGES = Resource(
    group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=_NodeImages
)


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of files that a user would apply."""

    sets: Sequence[PinnedImageSet]
    pools: Sequence[MachineConfigPool] = ()
    runtime_classes: Sequence[RuntimeClass] = ()


async def previews(
    client: KubeClient,
    planned: Planned,
    clock: Clock,
    *,
    journal: Path,
    gates: Gates,
    settings: PinSettings,
    pull_secrets: Sequence[Key] = (),
    auth_file: Path | None = None,
) -> list[Preview]:
    """What agents with these gates and settings would do.

    The credentials are those of this machine, of the pull secrets and of the auth file.
    """
    credentials = CredentialSettings(
        pull_secrets=(
            *await named_pull_secrets(client, pull_secrets),
            *credentials_of(auth_file).pull_secrets,
        )
    )
    before = await _objects(client)
    after = preview.after_applying(before, planned.sets, planned.pools)
    classes = await _handlers_by_class(client, planned) if handlers.gate_is_on(gates) else None
    reports = {one.metadata.name: one for one in before.machine_config_nodes}
    found = []

    def desired_of(node: Node, objects: ClusterObjects) -> Desired:
        return preview.desired_of(node, objects, handlers=classes, settings=settings)

    async with (
        open_registries(clock, settings=credentials) as registries,
        _resolvers(registries.client, clock, journal) as resolver_for,
    ):
        for node in preview.nodes_with_sets(after):
            desired, name = desired_of(node, after), node.metadata.name
            resolver = resolver_for(platform_of(node))
            await resolver.resolve(rules.wanted_images(desired))
            facts = await _facts(client, name, reports.get(name))
            one = preview.preview(
                desired, node, before.sets, facts, resolver.resolutions(), resolver.failed()
            )
            one = replace(one, wanted_before=rules.wanted_images(desired_of(node, before)))
            failures = await resolver.failures_now(one.missing)
            found.append(node_preview.with_failures(one, failures))
    return found


async def _handlers_by_class(client: KubeClient, planned: Planned) -> dict[str, str]:
    existing = {one.metadata.name: one.handler async for one in client.each(RUNTIME_CLASSES)}
    return existing | {one.metadata.name: one.handler for one in planned.runtime_classes}


async def _objects(client: KubeClient) -> ClusterObjects:
    return ClusterObjects(
        nodes=tuple([one async for one in client.each(NODES)]),
        pools=tuple([one async for one in client.each(MACHINE_CONFIG_POOLS)]),
        sets=tuple([one async for one in client.each(PINNED_IMAGE_SETS)]),
        machine_config_nodes=tuple([one async for one in client.each(MACHINE_CONFIG_NODES)]),
    )


async def _facts(client: KubeClient, name: str, report: MachineConfigNode | None) -> NodeFacts:
    listed, (space, problem), limits = await asyncio.gather(
        client.get(_NODE_IMAGES, name), _space(client, name), kubelet_proxy.limits(client, name)
    )
    names = frozenset(name for image in listed.status.images for name in image.names)
    return NodeFacts(
        report=report, image_names=names, space=space, space_problem=problem, limits=limits
    )


async def _space(client: KubeClient, name: str) -> tuple[Space | None, str]:
    try:
        return await kubelet_proxy.space(client, name), ""
    except kubelet_proxy.SpaceUnknown as error:
        return None, str(error)


def platform_of(node: Node) -> Platform:
    info = node.status.node_info
    return normalised(
        Platform(os=info.operating_system or "linux", architecture=info.architecture or "amd64")
    )


@asynccontextmanager
async def _resolvers(
    registry: Registry, clock: Clock, journal: Path
) -> AsyncIterator[Callable[[Platform], PlannedImages]]:
    """One resolver for each platform, so that nodes share the answers of a registry.

    Only agents know the platforms of guests, so the node's own stands for those of its guests.
    """
    made: dict[Platform, PlannedImages] = {}

    def resolver_for(platform: Platform) -> PlannedImages:
        if platform not in made:
            made[platform] = planned_images.of(
                registry, clock, FileJournal(journal), platform_of=lambda handler: platform
            )
        return made[platform]

    try:
        yield resolver_for
    finally:
        for resolver in made.values():
            await resolver.close()


async def diffs(
    client: KubeClient,
    edited: Sequence[PinnedImageSet],
    clock: Clock,
    *,
    journal: Path,
    pull_secrets: Sequence[Key],
) -> tuple[list[SetDiff], Sizes]:
    """Compares edited sets with those of the cluster."""
    secrets = await named_pull_secrets(client, pull_secrets)
    before = [one async for one in client.each(PINNED_IMAGE_SETS)]
    found = set_changes.diffs(before, edited)
    platform = await _usual_platform(client)
    names = {one.metadata.name for one in edited}
    compared = (*(one for one in before if one.metadata.name in names), *edited)
    settings = CredentialSettings(pull_secrets=secrets)
    async with open_registries(clock, settings=settings) as registries:
        images = planned_images.of(
            registries.client, clock, FileJournal(journal), platform_of=lambda handler: platform
        )
        try:
            await images.resolve(set_changes.images_of(compared))
        finally:
            await images.close()
    return found, set_changes.sizes(before, edited, found, images.resolutions())


async def _usual_platform(client: KubeClient) -> Platform:
    """The platform of most nodes; without nodes, that of this machine."""
    counts = Counter([platform_of(node) async for node in client.each(NODES)])
    return max(counts, key=lambda one: counts[one], default=machine_platform())


class KubeletSilent(Exception):
    """The kubelet of a node does not answer, or the user may not ask it; the text says why."""


async def image_disk(client: KubeClient, node: str) -> tuple[KubeletLimits, Space]:
    """What the kubelet reports about its image file system, through the API server."""
    try:
        limits = await kubelet_proxy.reported_limits(client, node)
        return limits, await kubelet_proxy.space(client, node)
    except (kubelet_proxy.LimitsUnknown, kubelet_proxy.SpaceUnknown) as error:
        raise KubeletSilent(str(error)) from error
