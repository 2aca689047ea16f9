"""The images that a node must hold, from the objects of the cluster. Pure."""

from collections.abc import Iterable, Mapping

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    PoolSynchronizerType,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImage, PinnedImageSet
from lading.kernel import references
from lading.kernel.images import ImageKey
from lading.kernel.values import replace
from lading.pinned_images.membership import CONTROL_PLANE_LABEL, Membership
from lading.pinned_images.node.types import Desired, DesiredSet, PinSettings

CONTROL_PLANE_PARALLEL_PULLS_MAX = 2  # etcd shares the disk


def desired(
    node: Node,
    pools: Iterable[MachineConfigPool],
    sets: Iterable[PinnedImageSet],
    *,
    handlers: Mapping[str, str] | None,
    settings: PinSettings,
    generation: int,
) -> Desired:
    """`handlers` maps runtime classes to handlers; None if the feature gate is off."""
    pools, sets, labels = tuple(pools), tuple(sets), node.metadata.labels
    membership = Membership(pools, sets)
    own_pools = membership.pools_of(labels)
    names = membership.sets_of(own_pools, labels)
    own_sets = sorted(
        (one for one in sets if one.metadata.name in names), key=lambda one: one.metadata.name
    )
    machines = (_machine_count(pool) for pool in pools if pool.metadata.name in own_pools)
    return Desired(
        node_name=node.metadata.name,
        sets=desired_sets(own_sets, handlers=handlers),
        settings=_settings_for(node, max(machines, default=0), settings),
        generation=generation,
    )


def desired_sets(
    sets: Iterable[PinnedImageSet], *, handlers: Mapping[str, str] | None
) -> tuple[DesiredSet, ...]:
    """If two sets want a tag for different images, the first one gets it."""
    owners: dict[str, tuple[str, ImageKey]] = {}
    return tuple(_desired_set(one, handlers, owners) for one in sets)


def _desired_set(
    image_set: PinnedImageSet,
    handlers: Mapping[str, str] | None,
    owners: dict[str, tuple[str, ImageKey]],
) -> DesiredSet:
    images = image_set.spec.pinned_images
    found = dict.fromkeys(one for image in images for one in _keys(image, handlers))
    problems = [one for one in found if isinstance(one, str)]
    meta, tags = image_set.metadata, {}
    for tag, key in _tags(images):
        owner, meaning = owners.setdefault(tag, (meta.name, key))
        if meaning == key:
            tags[tag] = key
        else:
            problems.append(f"{tag} means {meaning} on this node, for set {owner}, and not {key}")
    return DesiredSet(
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        images=tuple(one for one in found if isinstance(one, ImageKey)),
        tags=tags,
        unresolvable=tuple(problems),
    )


def _tags(images: Iterable[PinnedImage]) -> Iterable[tuple[str, ImageKey]]:
    """With runtime classes, the runtime would not know which of the images a tag means."""
    for image in images:
        if not image.runtime_class_names:
            key = ImageKey(references.name_in_runtimes(image.name))
            for tag in image.tags:
                yield f"{key.repository}:{tag}", key


def _keys(image: PinnedImage, handlers: Mapping[str, str] | None) -> Iterable[ImageKey | str]:
    """The keys of the image; a sentence for each runtime class that cannot be used."""
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


def _settings_for(node: Node, machines: int, settings: PinSettings) -> PinSettings:
    at_once = settings.parallel_pulls_max
    if CONTROL_PLANE_LABEL in node.metadata.labels:
        at_once = min(at_once, CONTROL_PLANE_PARALLEL_PULLS_MAX)
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
