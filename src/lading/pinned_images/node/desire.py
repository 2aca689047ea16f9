"""The images that this node should have, from the objects of the cluster. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    PoolSynchronizerType,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImage, PinnedImageSet
from lading.kernel import references
from lading.kernel.images import ImageKey
from lading.kernel.values import replace
from lading.pinned_images import rules
from lading.pinned_images.node.types import Desired, DesiredSet, PinSettings

CONTROL_PLANE_PARALLEL_PULLS_MAX = 2  # etcd shares the disk there

FirstSeen = Mapping[tuple[str, int], datetime]
"""When a generation was first seen, by (uid of the set, generation)."""


def desired(
    node: Node,
    pools: Iterable[MachineConfigPool],
    sets: Iterable[PinnedImageSet],
    *,
    handlers: Mapping[str, str] | None,
    first_seen: FirstSeen,
    settings: PinSettings,
    generation: int,
    now: datetime,
) -> Desired:
    """`handlers` is runtime class -> handler; None when the feature gate is off."""
    pools = tuple(pools)
    mine = rules.sets_of_node(node, pools, sets)
    return Desired(
        node_name=node.metadata.name,
        sets=tuple(
            desired_set(image_set, handlers=handlers, first_seen=first_seen, now=now)
            for image_set in mine
        ),
        settings=_settings_for(node, pools, settings),
        generation=generation,
    )


def desired_set(
    image_set: PinnedImageSet,
    *,
    handlers: Mapping[str, str] | None,
    first_seen: FirstSeen,
    now: datetime,
) -> DesiredSet:
    images = image_set.spec.pinned_images
    found = dict.fromkeys(one for image in images for one in _keys(image, handlers))
    meta = image_set.metadata
    return DesiredSet(
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        images=tuple(one for one in found if isinstance(one, ImageKey)),
        unresolvable=tuple(one for one in found if isinstance(one, str)),
        first_seen_at=first_seen.get((meta.uid, meta.generation), now),
    )


def _keys(image: PinnedImage, handlers: Mapping[str, str] | None) -> Iterable[ImageKey | str]:
    """The keys of the image; a sentence for what cannot be asked for."""
    listed = references.name_in_runtimes(image.name)
    if not image.runtime_class_names:
        yield ImageKey(listed)
        return
    for name in image.runtime_class_names:
        if handlers is None:
            yield (
                f"{image.name} names runtime class {name!r}, but the feature gate "
                "RuntimeClassInImageCriApi is off on this node"
            )
        elif name not in handlers:
            yield f"{image.name} names runtime class {name!r}, which does not exist"
        else:
            yield ImageKey(listed, handlers[name])


def _settings_for(
    node: Node, pools: tuple[MachineConfigPool, ...], settings: PinSettings
) -> PinSettings:
    control_plane = rules.CONTROL_PLANE_LABEL in node.metadata.labels
    at_once = settings.parallel_pulls_max
    if control_plane:
        at_once = min(at_once, CONTROL_PLANE_PARALLEL_PULLS_MAX)
    machines = max((_machine_count(pool) for pool in rules.pools_of_node(node, pools)), default=0)
    spread = min(settings.start_spread_per_node * machines, settings.start_spread_max)
    return replace(settings, parallel_pulls_max=at_once, start_spread=spread)


def _machine_count(pool: MachineConfigPool) -> int:
    return max(
        (
            status.machine_count
            for status in pool.status.pool_synchronizers_status
            if status.pool_synchronizer_type is PoolSynchronizerType.PINNED_IMAGE_SETS
        ),
        default=0,
    )
