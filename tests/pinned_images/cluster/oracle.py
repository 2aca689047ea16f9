"""Counts from scratch, the slow way: every node with every pool and every set. Tests only."""

from collections.abc import Mapping

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.pinned_image_set import NodeFailure, PinnedImageSet
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector
from lading.pinned_images.cluster.fleet import ClusterCaches
from lading.pinned_images.cluster.types import NodeProblem, PoolCounts, SetCounts

NAMED_IN_POOL, NAMED_IN_SET = 3, 10


class Oracle:
    def __init__(self, caches: ClusterCaches) -> None:
        self.nodes = {node.metadata.name: node for node in caches.nodes}
        self.pools = {pool.metadata.name: pool for pool in caches.pools}
        self.sets = {one.metadata.name: one for one in caches.sets}
        self.reports = {one.metadata.name: one for one in caches.machine_config_nodes}

    def primary_pool(self, node: Node) -> str:
        return next(iter(self._pools_of(node)), "")

    def _pools_of(self, node: Node) -> list[str]:
        found = [
            name
            for name, one in self.pools.items()
            if _selects(one.spec.node_selector, node.metadata.labels)
        ]
        return sorted(found, key=lambda name: (name == "worker", name == "master", name))

    def sets_of(self, node: Node) -> tuple[PinnedImageSet, ...]:
        named = {
            one.name
            for pool in self._pools_of(node)
            for one in self.pools[pool].spec.pinned_image_sets
        }
        return tuple(
            one
            for name, one in sorted(self.sets.items())
            if name in named
            and not one.metadata.deletion_timestamp
            and (
                one.spec.node_selector in (None, LabelSelector())
                or _selects(one.spec.node_selector, node.metadata.labels)
            )
        )

    def holds(self, node: Node, image_set: PinnedImageSet) -> bool:
        report = self.reports.get(node.metadata.name)
        wanted = image_set.metadata
        return report is not None and any(
            (entry.name, entry.uid, entry.current_generation)
            == (wanted.name, wanted.uid, wanted.generation)
            for entry in report.status.pinned_image_sets
        )

    def problem(self, node: Node) -> Condition | None:
        report = self.reports.get(node.metadata.name)
        if report is None:
            return None
        found = conditions.find(report.status.conditions, "PinnedImageSetsDegraded")
        return found if found is not None and found.status is Truth.TRUE else None

    def error(self, node: Node, image_set: PinnedImageSet) -> str:
        if self.problem(node) is None or self.holds(node, image_set):
            return ""
        report: MachineConfigNode = self.reports[node.metadata.name]
        return next(
            (
                entry.last_failed_generation_errors[0]
                for entry in report.status.pinned_image_sets
                if entry.name == image_set.metadata.name
                and entry.uid == image_set.metadata.uid
                and entry.last_failed_generation == image_set.metadata.generation
            ),
            "",
        )

    def pool_counts(self, name: str) -> PoolCounts:
        members = [node for node in self.nodes.values() if self.primary_pool(node) == name]
        updated = [one for one in members if all(self.holds(one, s) for s in self.sets_of(one))]
        troubled = sorted(
            (one.metadata.name, found)
            for one in members
            if (found := self.problem(one)) is not None
        )
        return PoolCounts(
            machine_count=len(members),
            updated_machine_count=len(updated),
            ready_machine_count=sum(map(is_ready, updated)),
            available_machine_count=sum(map(is_ready, members)),
            problem_counts=tuple(
                (reason, [found.reason for _, found in troubled].count(reason))
                for reason in sorted({found.reason for _, found in troubled})
            ),
            problems=named(troubled),
            no_space=named([one for one in troubled if one[1].reason == "NoSpace"]),
        )

    def set_counts(self, name: str) -> SetCounts:
        image_set = self.sets[name]
        members = [node for node in self.nodes.values() if image_set in self.sets_of(node)]
        errors = sorted(
            (node.metadata.name, error)
            for node in members
            if (error := self.error(node, image_set))
        )
        return SetCounts(
            node_count=len(members),
            ready_node_count=sum(self.holds(node, image_set) for node in members),
            failed_node_count=len(errors),
            failures=tuple(
                NodeFailure(node=node, message=error) for node, error in errors[:NAMED_IN_SET]
            ),
        )


def _selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None or selector == LabelSelector():
        return False
    try:
        return Selector.of(selector).matches(labels)
    except Malformed:
        return False


def named(troubled: list[tuple[str, Condition]]) -> tuple[NodeProblem, ...]:
    return tuple(
        NodeProblem(node=name, reason=found.reason, message=found.message)
        for name, found in troubled[:NAMED_IN_POOL]
    )


def is_ready(node: Node) -> bool:
    return any(one.type == "Ready" and one.status is Truth.TRUE for one in node.status.conditions)
