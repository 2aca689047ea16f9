"""Where a pod may run."""

import pytest

from lading.embedded.workloads import placement
from lading.embedded.workloads.kinds import NodeSpec, PodSpec, Taint, Toleration
from lading.kernel.values import replace
from tests.embedded.workloads.builders import node

TAINT = Taint(key="k", value="v", effect="NoSchedule")


def requiring(*terms: dict[str, object]) -> PodSpec:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return PodSpec(affinity={"nodeAffinity": {key: {"nodeSelectorTerms": list(terms)}}})


def label(operator: str, *values: str) -> dict[str, object]:
    return {"matchExpressions": [{"key": "a", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        pytest.param(PodSpec(), True, id="a pod that asks for nothing fits"),
        pytest.param(PodSpec(node_selector={"a": "1"}), True, id="the label is there"),
        pytest.param(PodSpec(node_selector={"a": "2"}), False, id="the label differs"),
        pytest.param(requiring(label("In", "1", "2")), True, id="an affinity that fits"),
        pytest.param(requiring(label("NotIn", "1")), False, id="an affinity that does not"),
    ],
)
def test_node_selector_and_affinity(spec: PodSpec, fits: bool) -> None:
    assert placement.fits(node("n", a="1"), spec) is fits


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        pytest.param(Toleration(operator="Exists"), True, id="everything"),
        pytest.param(Toleration(key="k", operator="Exists"), True, id="the key"),
        pytest.param(Toleration(key="k", value="v"), True, id="key and value"),
        pytest.param(Toleration(key="k", value="w"), False, id="another value"),
        pytest.param(Toleration(key="k", value="v", effect="NoExecute"), False, id="other effect"),
    ],
)
def test_a_taint_is_tolerated(toleration: Toleration, is_tolerated: bool) -> None:
    tainted = node("n", taints=(TAINT,))
    assert placement.is_tolerated(tainted, (toleration,), "NoSchedule") is is_tolerated
    assert placement.is_tolerated(tainted, (), "NoExecute")


def test_a_cordoned_node_is_tainted() -> None:
    cordoned = replace(node("n"), spec=NodeSpec(unschedulable=True))
    assert not placement.is_tolerated(cordoned, (), "NoSchedule")


def test_a_pod_for_one_node_names_it_in_each_term() -> None:
    given = requiring(label("In", "1"), label("In", "2"))
    spec = placement.on_node({"affinity": given.affinity}, "n-1")
    made = PodSpec(affinity=spec["affinity"])
    assert placement.target_node(made) == "n-1"
    assert placement.fits(node("n-1", a="2"), made)
    assert not placement.fits(node("n-2", a="2"), made)
    assert not placement.fits(node("n-1", a="3"), made)
    assert placement.target_node(given) == ""
