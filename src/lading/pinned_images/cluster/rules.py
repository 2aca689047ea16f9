"""What counts about a node, and which sets a pool takes, as small pure facts."""

from collections.abc import Collection, Mapping

import msgspec

from lading.api.core import Node
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.pinned_images import claims
from lading.pinned_images.claims import Claim
from lading.pinned_images.cluster.types import NodeProblem
from lading.pinned_images.reasons import ConditionType
from lading.pinned_images.rules import Membership, is_report_of

FIELD_MANAGER = "lading-pinned-images"
ENTRIES = "spec", "pinnedImageSets"
"""Where a pool lists its sets."""
NO_MESSAGE = "the node reports an error without a message"
_NO_ERRORS: Mapping[str, str] = {}


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """What one node adds to the counts of its pools and sets."""

    pools: tuple[str, ...] = ()
    """The primary one first; the node is counted there only."""
    sets: frozenset[str] = frozenset()
    """All that the node must hold."""
    ready_sets: frozenset[str] = frozenset()
    """Those that it holds and pins, in the generation that exists now."""
    errors: Mapping[str, str] = {}
    """The first error of each set that fails."""
    is_available: bool = False
    problem: NodeProblem | None = None

    @property
    def primary_pool(self) -> str:
        return self.pools[0] if self.pools else ""

    @property
    def is_updated(self) -> bool:
        return len(self.ready_sets) == len(self.sets)


UNKNOWN_NODE = NodeState()


def our_entries(pool: MachineConfigPool) -> frozenset[str]:
    """The sets that this controller entered into the pool."""
    return pool.metadata.applied_names(FIELD_MANAGER, *ENTRIES)


def node_state(node: Node, report: MachineConfigNode | None, membership: Membership) -> NodeState:
    """`report` is the node's MachineConfigNode; None when it has none."""
    labels = node.metadata.labels
    pools = membership.pools_of(labels)
    sets = membership.sets_of(pools, labels)
    if report is None or not is_report_of(report, node):
        return NodeState(pools=pools, sets=sets, is_available=node_is_ready(node))
    held, wanted = claims.held(report), membership.claims
    ready = frozenset(name for name in sets if held.get(name) == wanted[name])
    problem = problem_of(report)
    return NodeState(
        pools=pools,
        sets=sets,
        ready_sets=sets if len(ready) == len(sets) else ready,  # one object for many nodes
        errors=_errors(report, sets - ready, wanted) if problem else _NO_ERRORS,
        is_available=node_is_ready(node),
        problem=problem,
    )


def node_is_ready(node: Node) -> bool:
    return any(one.type == "Ready" and one.status is Truth.TRUE for one in node.status.conditions)


def problem_of(report: MachineConfigNode) -> NodeProblem | None:
    """The error that the node reports about itself."""
    found = conditions.find(report.status.conditions, ConditionType.SETS_DEGRADED)
    if found is None or found.status is not Truth.TRUE:
        return None
    return NodeProblem(node=report.metadata.name, reason=found.reason, message=found.message)


def _errors(
    report: MachineConfigNode, sets: frozenset[str], wanted: Mapping[str, Claim]
) -> Mapping[str, str]:
    """The node's first error about the present generation of each set.

    An error outlives its cause in the node's list, so it counts only while the node reports a
    problem.
    """
    return {
        entry.name: next(iter(entry.last_failed_generation_errors), NO_MESSAGE)
        for entry in report.status.pinned_image_sets
        if entry.name in sets
        and entry.last_failed_generation == wanted[entry.name].generation
        and entry.uid in ("", wanted[entry.name].uid)
    }


def sets_to_enter(pool: MachineConfigPool, sets: Collection[str]) -> tuple[str, ...]:
    """The sets to enter into the pool: all that it selects, as far as it has room.

    What is entered already stays, so that a set too many takes no other set's pins; and what
    others entered stays in any case, so it takes up room.
    """
    entered = {reference.name for reference in pool.spec.pinned_image_sets}
    ours = pool.metadata.applied_names(FIELD_MANAGER, *ENTRIES)
    selected = frozenset(sets)
    staying = entered - ours | pool.metadata.names_of_others(FIELD_MANAGER, *ENTRIES)
    first_come = sorted(selected - staying, key=lambda name: (name not in entered, name))
    room = group.SETS_PER_POOL_MAX - len(staying)
    return tuple(sorted({*first_come[:room], *(selected & staying)}))


def another_operator_describes(described: MachineConfigNode) -> bool:
    return bool(described.spec.config_version.desired)
