"""Which nodes a node affinity lets in."""

from typing import Any

import pytest

from lading.kernel import node_affinity


def requiring(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {node_affinity.REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def label(operator: str, *values: str, key: str = "a") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(*names: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": list(names)}
    return {"matchFields": [field]}


@pytest.mark.parametrize(
    ("affinity", "fits"),
    [
        pytest.param({}, True, id="nothing is required"),
        pytest.param({"nodeAffinity": {}}, True, id="only preferences may be there"),
        pytest.param(requiring(label("In", "1", "2")), True, id="In"),
        pytest.param(requiring(label("In", "2")), False, id="not In"),
        pytest.param(requiring(label("NotIn", "1")), False, id="NotIn"),
        pytest.param(requiring(label("NotIn", "1", key="b")), True, id="NotIn without the label"),
        pytest.param(requiring(label("Exists")), True, id="Exists"),
        pytest.param(requiring(label("Exists", key="b")), False, id="does not exist"),
        pytest.param(requiring(label("DoesNotExist")), False, id="DoesNotExist"),
        pytest.param(requiring(label("Gt", "0")), True, id="Gt"),
        pytest.param(requiring(label("Gt", "1")), False, id="not Gt"),
        pytest.param(requiring(label("Lt", "2")), True, id="Lt"),
        pytest.param(requiring(label("Lt", "1")), False, id="not Lt"),
        pytest.param(requiring(label("Lt", "9", key="word")), False, id="a word is not less"),
        pytest.param(requiring(label("Gt", "-1", key="word")), False, id="nor more"),
        pytest.param(requiring(label("Gt", "-1", key="b")), False, id="nor is what is missing"),
        pytest.param(requiring(label("In", "2"), label("In", "1")), True, id="one term is enough"),
        pytest.param(requiring({}), False, id="an empty term fits no node"),
        pytest.param(requiring(), False, id="without terms no node fits"),
        pytest.param(requiring(named("n")), True, id="the name"),
        pytest.param(requiring(named("m")), False, id="another name"),
        pytest.param(
            requiring({**named("n"), **label("In", "2")}), False, id="a term holds as a whole"
        ),
        pytest.param(requiring(label("Near", "1")), False, id="an unknown operator"),
    ],
)
def test_fits(affinity: dict[str, Any], fits: bool) -> None:
    labels = {"a": "1", "word": "many"}
    assert node_affinity.fits(affinity, "n", labels) is fits


def test_a_pod_of_a_daemon_set_names_its_node_before_it_is_scheduled() -> None:
    assert node_affinity.target(requiring(named("n"))) == "n"
    assert node_affinity.target(requiring(label("In", "1"))) == ""
    assert node_affinity.target({}) == ""
