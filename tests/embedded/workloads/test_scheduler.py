"""Which node a pod gets."""

import msgspec

from lading.embedded.workloads import placement, scheduler
from lading.embedded.workloads.actions import Delete, Patch
from lading.embedded.workloads.kinds import Condition, Document, LocalReference, Node, Pod, Taint
from lading.embedded.workloads.scheduler import ObservedScheduling
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from tests.embedded.workloads.builders import NOW, actions, node, pod


def planned(one: Pod, *nodes: Node, **counts: int) -> Plan:
    by_node = {name.replace("_", "-"): count for name, count in counts.items()}
    return scheduler.plan(ObservedScheduling(pod=one, nodes=nodes, pods_by_node=by_node), NOW)


def chosen(one: Pod, *nodes: Node, **counts: int) -> list[str]:
    patches = actions(planned(one, *nodes, **counts), Patch)
    return [patch.body["spec"]["nodeName"] for patch in patches]


def condition(of: Plan) -> Document:
    (patch,) = actions(of, Patch)
    (found,) = patch.body["status"]["conditions"]
    return dict(found)


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
    one = pod()
    made = condition(planned(one, tainted))
    assert (made["status"], made["reason"]) == ("False", "Unschedulable")
    assert made["message"].startswith("0/1 nodes are available")
    written = replace(one.status, conditions=(msgspec.convert(made, Condition),))
    assert planned(replace(one, status=written), tainted) == Plan()


def test_a_pod_goes_with_its_node() -> None:
    (delete,) = actions(planned(pod(node="n-1"), node("n-2")), Delete)
    assert delete.uid == "uid-p"


def test_a_bound_pod_has_the_condition_scheduled() -> None:
    made = condition(planned(pod(node="n-1"), node("n-1")))
    assert (made["type"], made["status"]) == ("PodScheduled", "True")
