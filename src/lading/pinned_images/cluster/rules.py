"""The state of a node for the counts, and the sets of a pool, as small pure facts."""

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
from lading.pinned_images.membership import Membership, is_report_of
from lading.pinned_images.reasons import ConditionType

FIELD_MANAGER = "lading-pinned-images"
SETS_OF_POOL = "spec", "pinnedImageSets"
"""The field of a pool with its sets."""
NO_MESSAGE = "the node reports an error without a message"
_NO_ERRORS: Mapping[str, str] = {}


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of one node to the counts of its pools and sets."""

    pools: tuple[str, ...] = ()
    """The primary pool first. The node counts only there."""
    sets: frozenset[str] = frozenset()
    """All sets that the node must hold."""
    ready_sets: frozenset[str] = frozenset()
    """Sets with their current generation pinned."""
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


def sets_assigned_by_us(pool: MachineConfigPool) -> frozenset[str]:
    return pool.metadata.applied_names(FIELD_MANAGER, *SETS_OF_POOL)


def node_state(node: Node, report: MachineConfigNode | None, membership: Membership) -> NodeState:
    """`report` is the MachineConfigNode of the node; None if there is none."""
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
    """The first error of the node about the current generation of each set.

    Errors stay listed after their cause ends, so this is asked only if the node is degraded.
    """
    return {
        entry.name: next(iter(entry.last_failed_generation_errors), NO_MESSAGE)
        for entry in report.status.pinned_image_sets
        if entry.name in sets
        and entry.last_failed_generation == wanted[entry.name].generation
        and entry.uid in ("", wanted[entry.name].uid)
    }


def sets_to_assign(pool: MachineConfigPool, sets: Collection[str]) -> tuple[str, ...]:
    """All sets that the pool selects, up to its maximum.

    Sets that the pool has already stay, so that a new set never unpins another. Sets that others
    assigned stay too and count towards the maximum.
    """
    present = {reference.name for reference in pool.spec.pinned_image_sets}
    ours = sets_assigned_by_us(pool)
    selected = frozenset(sets)
    staying = present - ours | pool.metadata.names_of_others(FIELD_MANAGER, *SETS_OF_POOL)
    first_come = sorted(selected - staying, key=lambda name: (name not in present, name))
    room = group.SETS_PER_POOL_MAX - len(staying)
    return tuple(sorted({*first_come[:room], *(selected & staying)}))


def belongs_to_another_operator(found: MachineConfigNode) -> bool:
    return bool(found.spec.config_version.desired)
