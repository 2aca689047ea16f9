"""Which node a pod gets."""

from lading.kernel.planning import Plan
from lading.standalone.workloads import placement
from lading.standalone.workloads.actions import Delete
from lading.standalone.workloads.kinds import LocalReference, Node, Pod, Taint
from lading.standalone.workloads.scheduler import plan as scheduler
from lading.standalone.workloads.scheduler.plan import Bind, ObservedScheduling, WriteCondition
from tests.standalone.workloads.builders import NOW, actions, node, pod


def planned(one: Pod, *nodes: Node, **counts: int) -> Plan:
    by_node = {name.replace("_", "-"): count for name, count in counts.items()}
    return scheduler.plan(ObservedScheduling(pod=one, nodes=nodes, pods_by_node=by_node), NOW)


def chosen(one: Pod, *nodes: Node, **counts: int) -> list[str]:
    return [action.node for action in actions(planned(one, *nodes, **counts), Bind)]


def test_the_ready_node_with_the_fewest_pods_is_chosen() -> None:
    nodes = (node("n-1"), node("n-2"), node("n-3", ready=False))
    assert chosen(pod(), *nodes, n_1=2, n_2=1) == ["n-2"]
    assert chosen(pod(), *nodes) == ["n-1"]


def test_a_pod_with_a_gate_waits() -> None:
    gated = pod(scheduling_gates=(LocalReference(name="g"),))
    assert planned(gated, node("n-1")) == Plan()


def test_a_pod_of_a_daemon_set_goes_to_its_node_ready_or_not() -> None:
    affinity = placement.on_node({}, "n-2")["affinity"]
    meant = pod(affinity=affinity)
    assert chosen(meant, node("n-1"), node("n-2", ready=False)) == ["n-2"]


def test_a_pod_that_fits_nowhere_says_so_once() -> None:
    tainted = node("n-1", taints=(Taint(key="k", effect="NoSchedule"),))
    made = planned(pod(), tainted)
    assert actions(made, Bind) == []
    (write,) = actions(made, WriteCondition)
    assert (write.condition["status"], write.condition["reason"]) == ("False", "Unschedulable")
    assert write.condition["message"].startswith("0/1 nodes are available")


def test_a_pod_goes_with_its_node() -> None:
    (delete,) = actions(planned(pod(node="n-1"), node("n-2")), Delete)
    assert delete.uid == "uid-p"


def test_a_bound_pod_has_the_condition_scheduled() -> None:
    (write,) = actions(planned(pod(node="n-1"), node("n-1")), WriteCondition)
    assert (write.condition["type"], write.condition["status"]) == ("PodScheduled", "True")
