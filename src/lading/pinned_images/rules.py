"""Who belongs to whom: nodes to pools, sets to pools, and so sets to nodes."""

from collections.abc import Iterable

from lading.api.core import Node
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector

MASTER = "master"
WORKER = "worker"
CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"


def selects(selector: LabelSelector | None, labels: dict[str, str]) -> bool:
    """An absent selector, an empty one and one that cannot be read select nothing.

    A pool without a selector would otherwise take every node of the cluster by accident.
    """
    if selector is None or selector == LabelSelector():
        return False
    try:
        return Selector.of(selector).matches(labels)
    except Malformed:
        return False


def node_is_in_pool(node: Node, pool: MachineConfigPool) -> bool:
    return selects(pool.spec.node_selector, node.metadata.labels)


def set_belongs_to_pool(image_set: PinnedImageSet, pool: MachineConfigPool) -> bool:
    """By the pool's selector; where it has none, by the role that the set's label names."""
    selector = pool.spec.machine_config_selector
    if selector is None or selector == LabelSelector():
        return image_set.metadata.labels.get(group.ROLE_LABEL) == pool.metadata.name
    return selects(selector, image_set.metadata.labels)


def set_takes_node(image_set: PinnedImageSet, node: Node) -> bool:
    """The set's own selector only narrows: without one it takes every node of its pools."""
    selector = image_set.spec.node_selector
    if selector is None or selector == LabelSelector():
        return True
    return selects(selector, node.metadata.labels)


def pools_of_node(node: Node, pools: Iterable[MachineConfigPool]) -> tuple[MachineConfigPool, ...]:
    """The pools of a node, its primary one first: a custom pool, then master, then worker."""
    order = {MASTER: 1, WORKER: 2}
    return tuple(
        sorted(
            (pool for pool in pools if node_is_in_pool(node, pool)),
            key=lambda pool: (order.get(pool.metadata.name, 0), pool.metadata.name),
        )
    )


def sets_of_node(
    node: Node, pools: Iterable[MachineConfigPool], sets: Iterable[PinnedImageSet]
) -> tuple[PinnedImageSet, ...]:
    """The sets of every pool that the node is a member of, each once, by name."""
    named = {
        reference.name
        for pool in pools_of_node(node, pools)
        for reference in pool.spec.pinned_image_sets
    }
    return tuple(
        sorted(
            (
                image_set
                for image_set in sets
                if image_set.metadata.name in named
                and not image_set.metadata.deletion_timestamp
                and set_takes_node(image_set, node)
            ),
            key=lambda image_set: image_set.metadata.name,
        )
    )
