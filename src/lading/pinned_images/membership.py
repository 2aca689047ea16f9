"""Which nodes are in which pools, and which sets belong on a node. Pure.

Agents, the controller, the commands and the dashboard all ask this module, so that they agree.
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
_PRIMARY_ORDER = {MASTER: 1, WORKER: 2}  # custom pools come first


def set_belongs_to_pool(image_set: PinnedImageSet, pool: MachineConfigPool) -> bool:
    """By the pool's selector; if it has none, by the role in the label of the set."""
    labels = image_set.metadata.labels
    if _is_empty(pool.spec.machine_config_selector):
        return labels.get(group.ROLE_LABEL) == pool.metadata.name
    selector = _parsed(pool.spec.machine_config_selector)
    return selector is not None and selector.matches(labels)


def is_report_of(report: MachineConfigNode, node: Node) -> bool:
    """False for the report of an earlier Node of the same name.

    A machine that is registered again may have been installed anew, and hold nothing.
    """
    nodes = [one.uid for one in report.metadata.owner_references if one.kind == NODES.kind]
    return not nodes or node.metadata.uid in nodes


def claim_of(image_set: PinnedImageSet) -> Claim:
    """The claim of a node that has pinned the current generation of this set."""
    return Claim(image_set.metadata.uid, image_set.metadata.generation)


class Membership:
    """The pools and sets of one moment. Selectors are parsed once for all nodes."""

    def __init__(self, pools: Iterable[MachineConfigPool], sets: Iterable[PinnedImageSet]) -> None:
        by_name = {pool.metadata.name: pool for pool in pools}
        self._node_selectors = tuple(
            (name, selector)
            for name in sorted(by_name, key=lambda name: (_PRIMARY_ORDER.get(name, 0), name))
            if (selector := _parsed(by_name[name].spec.node_selector)) is not None
        )
        self._sets_named = {
            name: tuple(reference.name for reference in pool.spec.pinned_image_sets)
            for name, pool in by_name.items()
        }
        existing = [one for one in sets if not one.metadata.deletion_timestamp]
        self.claims = {one.metadata.name: claim_of(one) for one in existing}
        """The claim that counts as ready, by the name of the set."""
        self._node_selector_of_set = {
            one.metadata.name: _parsed(one.spec.node_selector)
            for one in existing
            if not _is_empty(one.spec.node_selector)
        }
        self._sets_of_pools: dict[tuple[str, ...], tuple[frozenset[str], tuple[str, ...]]] = {}

    def sets_named_by(self, pool: str) -> tuple[str, ...]:
        """The sets in the spec of the pool, including those that do not exist."""
        return self._sets_named.get(pool, ())

    def pools_of(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """The pools of a node with these labels: its primary pool first."""
        return tuple(name for name, selector in self._node_selectors if selector.matches(labels))

    def sets_of(self, pools: tuple[str, ...], labels: Mapping[str, str]) -> frozenset[str]:
        """The sets of a node with these pools and labels. A set's own selector only narrows."""
        everywhere, narrowed = self._of_pools(pools)
        if not narrowed:
            return everywhere
        return everywhere.union(name for name in narrowed if self._selects(name, labels))

    def _of_pools(self, pools: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
        """The sets for every node of the pools, and the sets that select by labels."""
        if pools not in self._sets_of_pools:
            named = {name for pool in pools for name in self.sets_named_by(pool)}
            existing = named & self.claims.keys()
            narrowed = existing & self._node_selector_of_set.keys()
            self._sets_of_pools[pools] = frozenset(existing - narrowed), tuple(sorted(narrowed))
        return self._sets_of_pools[pools]

    def _selects(self, image_set: str, labels: Mapping[str, str]) -> bool:
        selector = self._node_selector_of_set[image_set]
        return selector is not None and selector.matches(labels)


def _parsed(selector: LabelSelector | None) -> Selector | None:
    """None for a selector that is absent, empty or malformed. It selects nothing.

    A pool without a selector would otherwise take every node of the cluster by accident.
    """
    if selector is None or _is_empty(selector):
        return None
    try:
        return Selector.of(selector)
    except Malformed:
        return None


def _is_empty(selector: LabelSelector | None) -> bool:
    return selector is None or selector == LabelSelector()
