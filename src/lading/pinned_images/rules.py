"""Membership: nodes in pools, sets in pools, and so sets on nodes.

`Membership` answers for a whole fleet, with selectors parsed once; the functions answer for one
node, which is all that an agent has.
"""

from collections.abc import Iterable, Mapping

from lading.api.core import NODES, Node
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector
from lading.pinned_images.claims import Claim

MASTER = "master"
WORKER = "worker"
CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
_PRIMARY_ORDER = {MASTER: 1, WORKER: 2}


def parsed(selector: LabelSelector | None) -> Selector | None:
    """None selects nothing: an absent selector, an empty one, and one that cannot be read.

    A pool without a selector would otherwise take every node of the cluster by accident.
    """
    if is_empty(selector):
        return None
    assert selector is not None
    try:
        return Selector.of(selector)
    except Malformed:
        return None


def is_empty(selector: LabelSelector | None) -> bool:
    return selector is None or selector == LabelSelector()


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    found = parsed(selector)
    return found is not None and found.matches(labels)


def node_is_in_pool(node: Node, pool: MachineConfigPool) -> bool:
    return selects(pool.spec.node_selector, node.metadata.labels)


def set_belongs_to_pool(image_set: PinnedImageSet, pool: MachineConfigPool) -> bool:
    """By the pool's selector; where it has none, by the role that the set's label names."""
    if is_empty(pool.spec.machine_config_selector):
        return image_set.metadata.labels.get(group.ROLE_LABEL) == pool.metadata.name
    return selects(pool.spec.machine_config_selector, image_set.metadata.labels)


def set_takes_node(image_set: PinnedImageSet, node: Node) -> bool:
    """The set's own selector only narrows: without one it takes every node of its pools."""
    selector = image_set.spec.node_selector
    return is_empty(selector) or selects(selector, node.metadata.labels)


def primary_first(name: str) -> tuple[int, str]:
    """The order of a node's pools: custom pools, then master, then worker."""
    return _PRIMARY_ORDER.get(name, 0), name


def pools_of_node(node: Node, pools: Iterable[MachineConfigPool]) -> tuple[MachineConfigPool, ...]:
    """The pools of a node, its primary one first."""
    return tuple(
        sorted(
            (pool for pool in pools if node_is_in_pool(node, pool)),
            key=lambda pool: primary_first(pool.metadata.name),
        )
    )


def sets_of_node(
    node: Node, pools: Iterable[MachineConfigPool], sets: Iterable[PinnedImageSet]
) -> tuple[PinnedImageSet, ...]:
    """The sets of every pool that selects the node, each once, by name."""
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


def is_report_of(report: MachineConfigNode, node: Node) -> bool:
    """Whether this very Node made the report, and not an earlier one of the same name.

    A machine that is registered again may have been installed anew, and hold nothing.
    """
    nodes = [one.uid for one in report.metadata.owner_references if one.kind == NODES.kind]
    return not nodes or node.metadata.uid in nodes


def claim_of(image_set: PinnedImageSet) -> Claim:
    """What a node claims that holds and pins this very set, in the generation that exists now."""
    return Claim(image_set.metadata.uid, image_set.metadata.generation)


class Membership:
    """The pools and sets of one moment, prepared for the question about many nodes."""

    def __init__(self, pools: Iterable[MachineConfigPool], sets: Iterable[PinnedImageSet]) -> None:
        by_name = {pool.metadata.name: pool for pool in pools}
        self._node_selectors = tuple(
            (name, selector)
            for name in sorted(by_name, key=primary_first)
            if (selector := parsed(by_name[name].spec.node_selector)) is not None
        )
        self._entries = {
            name: tuple(reference.name for reference in pool.spec.pinned_image_sets)
            for name, pool in by_name.items()
        }
        existing = [one for one in sets if not one.metadata.deletion_timestamp]
        self.claims = {one.metadata.name: claim_of(one) for one in existing}
        """What a node must claim to be counted as ready, by the name of the set."""
        self._narrowing = {
            one.metadata.name: parsed(one.spec.node_selector)
            for one in existing
            if not is_empty(one.spec.node_selector)
        }
        self._sets_of_pools: dict[tuple[str, ...], tuple[frozenset[str], tuple[str, ...]]] = {}

    def entries(self, pool: str) -> tuple[str, ...]:
        """The sets that the pool names, whether they exist or not."""
        return self._entries.get(pool, ())

    def pools_of(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """The pools of a node with these labels, its primary one first."""
        return tuple(name for name, selector in self._node_selectors if selector.matches(labels))

    def sets_of(self, pools: tuple[str, ...], labels: Mapping[str, str]) -> frozenset[str]:
        """The sets of a node with these pools and labels."""
        everywhere, narrowed = self._of_pools(pools)
        if not narrowed:
            return everywhere
        return everywhere.union(name for name in narrowed if self._narrows_to(name, labels))

    def _of_pools(self, pools: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
        """The sets that take every node of the pools, and those that select by its labels."""
        if pools not in self._sets_of_pools:
            existing = {name for pool in pools for name in self.entries(pool)} & self.claims.keys()
            narrowed = existing & self._narrowing.keys()
            self._sets_of_pools[pools] = frozenset(existing - narrowed), tuple(sorted(narrowed))
        return self._sets_of_pools[pools]

    def _narrows_to(self, name: str, labels: Mapping[str, str]) -> bool:
        selector = self._narrowing[name]
        return selector is not None and selector.matches(labels)
