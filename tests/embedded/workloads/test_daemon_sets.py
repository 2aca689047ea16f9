"""Which pods of a DaemonSet are created and deleted, case by case."""

from typing import Any

import msgspec
import pytest

from lading.embedded.workloads import daemon_sets
from lading.embedded.workloads.actions import Create, Delete, Patch
from lading.embedded.workloads.daemon_sets import ObservedDaemonSet, plan
from lading.embedded.workloads.kinds import DaemonSet, Node, Pod, Taint
from lading.kernel.objects import ObjectMeta
from lading.kernel.values import replace
from tests.embedded.workloads.builders import NOW, actions, daemon_set, node, pod

NODES = (node("n-1"), node("n-2"))


def new_pod(of: DaemonSet, name: str, **fields: Any) -> Pod:
    return pod(name, labels={daemon_sets.HASH_LABEL: daemon_sets.revision_hash(of)}, **fields)


def old_pod(name: str, **fields: Any) -> Pod:
    return pod(name, labels={daemon_sets.HASH_LABEL: "old"}, **fields)


def changes(
    of: DaemonSet, *pods: Pod, nodes: tuple[Node, ...] = NODES
) -> tuple[list[str], list[str]]:
    """The nodes that get a pod, and the pods that go."""
    made = plan(ObservedDaemonSet(daemon_set=of, nodes=nodes, pods=pods), NOW)
    fields = [
        one.body["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"][0]["matchFields"][0]
        for one in actions(made, Create)
    ]
    return [field["values"][0] for field in fields], [one.key.name for one in actions(made, Delete)]


def test_each_node_without_a_pod_gets_one() -> None:
    of = daemon_set()
    assert changes(of) == (["n-1", "n-2"], [])
    assert changes(of, new_pod(of, "a", node="n-1")) == (["n-2"], [])


def test_a_pod_that_is_not_bound_yet_counts_for_its_node() -> None:
    of = daemon_set()
    body = daemon_sets.pod_for(of, "n-1", taken=frozenset())
    waiting = msgspec.convert(body, Pod)
    assert changes(of, waiting, nodes=NODES[:1]) == ([], [])


@pytest.mark.parametrize(
    ("taint", "expected"),
    [
        pytest.param("NoSchedule", ([], []), id="NoSchedule keeps the pod that is there"),
        pytest.param("NoExecute", ([], ["a"]), id="NoExecute drives it out"),
    ],
)
def test_a_taint_that_is_not_tolerated(taint: str, expected: tuple[list[str], list[str]]) -> None:
    of = daemon_set()
    tainted = (node("n-1", taints=(Taint(key="k", effect=taint),)),)
    assert changes(of, nodes=tainted) == ([], [])
    assert changes(of, new_pod(of, "a", node="n-1"), nodes=tainted) == expected


def test_a_toleration_of_the_template_counts() -> None:
    of = daemon_set(pod={"tolerations": [{"key": "k", "operator": "Exists"}]})
    tainted = (node("n-1", taints=(Taint(key="k", effect="NoSchedule"),)),)
    assert changes(of, nodes=tainted) == (["n-1"], [])


def test_a_node_that_the_selector_no_longer_fits_loses_its_pod() -> None:
    of = daemon_set(pod={"nodeSelector": {"a": "1"}})
    assert changes(of, new_pod(of, "a", node="n-1"), nodes=(node("n-1", a="2"),)) == ([], ["a"])


def test_a_failed_pod_goes_and_another_follows_when_it_is_gone() -> None:
    of = daemon_set()
    failed = new_pod(of, "a", node="n-1", phase="Failed")
    assert changes(of, failed, nodes=NODES[:1]) == ([], ["a"])
    leaving = new_pod(of, "a", node="n-1", deleted=True)
    assert changes(of, leaving, nodes=NODES[:1]) == ([], [])


class TestSurge:
    def test_old_pods_that_are_available_get_a_successor_and_stay(self) -> None:
        of = daemon_set()
        old = [
            old_pod(name, node=where, ready=True) for name, where in (("a", "n-1"), ("b", "n-2"))
        ]
        assert changes(of, *old) == (["n-1", "n-2"], [])

    def test_an_old_pod_goes_when_its_successor_is_ready(self) -> None:
        of = daemon_set()
        old = old_pod("a", node="n-1", ready=True)
        assert changes(of, old, new_pod(of, "b", node="n-1"), nodes=NODES[:1]) == ([], [])
        ready = new_pod(of, "b", node="n-1", ready=True)
        assert changes(of, old, ready, nodes=NODES[:1]) == ([], ["a"])

    def test_an_old_pod_that_is_not_ready_goes_as_soon_as_it_has_a_successor(self) -> None:
        of = daemon_set()
        old = old_pod("a", node="n-1")
        assert changes(of, old, nodes=NODES[:1]) == (["n-1"], [])
        assert changes(of, old, new_pod(of, "b", node="n-1"), nodes=NODES[:1]) == ([], ["a"])


def test_without_a_surge_old_pods_go_before_their_successors_come() -> None:
    of = daemon_set(surge=0)
    old = [old_pod(name, node=where, ready=True) for name, where in (("a", "n-1"), ("b", "n-2"))]
    assert changes(of, *old) == ([], ["a", "b"])
    assert changes(of, old[1]) == (["n-1"], ["b"])


def test_the_status_counts_the_older_pod_of_a_node() -> None:
    of = daemon_set()
    pods = (
        old_pod("a", node="n-1", ready=True, created=-60),
        new_pod(of, "b", node="n-1", created=-1),
        new_pod(of, "c", node="n-2", ready=True),
        new_pod(of, "e", node="n-3", ready=True),
    )
    tainted = node("n-3", taints=(Taint(key="k", effect="NoSchedule"),))
    (write,) = actions(
        plan(ObservedDaemonSet(daemon_set=of, nodes=(*NODES, tainted), pods=pods), NOW),
        Patch,
    )
    assert write.body["status"] == {
        "observedGeneration": 1,
        "desiredNumberScheduled": 2,
        "currentNumberScheduled": 2,
        "numberMisscheduled": 1,
        "numberReady": 2,
        "numberAvailable": 2,
        "numberUnavailable": None,
        "updatedNumberScheduled": 1,
    }


def test_a_status_that_is_right_is_not_written_again() -> None:
    of = daemon_set()
    (write,) = actions(plan(ObservedDaemonSet(daemon_set=of, nodes=(), pods=()), NOW), Patch)
    known = msgspec.convert(
        {key: value for key, value in write.body["status"].items() if value is not None},
        type(of.status),
    )
    of = replace(of, status=known)
    assert plan(ObservedDaemonSet(daemon_set=of, nodes=(), pods=()), NOW).actions == ()


def test_a_daemon_set_that_is_deleted_makes_no_pods() -> None:
    of = daemon_set()
    metadata = ObjectMeta(name="d", namespace="ns", uid="uid-d", deletion_timestamp="now")
    of = replace(of, metadata=metadata)
    assert changes(of) == ([], [])


def test_names_differ_by_node_and_template_and_avoid_pods_that_are_there() -> None:
    one, other = daemon_set(image="i:1"), daemon_set(image="i:2")

    def name(of: DaemonSet, where: str, *taken: str) -> str:
        return str(daemon_sets.pod_for(of, where, taken=frozenset(taken))["metadata"]["name"])

    names = {name(one, "n-1"), name(one, "n-2"), name(other, "n-1")}
    assert len(names) == 3
    assert name(one, "n-1") == name(one, "n-1")
    assert name(one, "n-1", name(one, "n-1")) not in names
