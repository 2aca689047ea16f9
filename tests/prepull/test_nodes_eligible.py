"""On which nodes a pod of the DaemonSet may run."""

from typing import Any

import pytest

from lading.prepull import nodes
from lading.prepull.types import PrePullSettings, Toleration
from tests.prepull.worlds import node

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


WINDOWS_LABEL: Any = {"kubernetes.io/os": "windows"}
WINDOWS = node(**WINDOWS_LABEL)


def required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("found", "settings", "is_eligible"),
    [
        pytest.param(node(), {}, True, id="a plain node"),
        pytest.param(node(ready=False), {}, True, id="a node that is not Ready"),
        pytest.param(node(taints=[CORDON]), {}, True, id="a cordoned node"),
        pytest.param(WINDOWS, {}, False, id="Windows"),
        pytest.param(node(taints=[TAINT]), {}, False, id="a taint"),
        pytest.param(
            node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), {}, True, id="a soft taint"
        ),
        pytest.param(
            node(taints=[TAINT]), {"tolerations": (Toleration(key="team"),)}, True, id="tolerated"
        ),
        pytest.param(
            node(taints=[TAINT]),
            {"tolerations": (Toleration(key="team", value="b"),)},
            False,
            id="another value is tolerated",
        ),
        pytest.param(
            node(taints=[TAINT]), {"tolerations": (Toleration(),)}, True, id="all is tolerated"
        ),
        pytest.param(node(), {"node_selector": (("disk", "x"),)}, False, id="no such label"),
        pytest.param(node(disk="x"), {"node_selector": (("disk", "x"),)}, True, id="the label"),
        pytest.param(
            node(zone="b"),
            {"affinity": required({"key": "zone", "operator": "In", "values": ["a"]})},
            False,
            id="affinity to another zone",
        ),
        pytest.param(
            node(zone="b"),
            {"affinity": required({"key": "zone", "operator": "NotIn", "values": ["a"]})},
            True,
            id="affinity away from a zone",
        ),
        pytest.param(
            node(cpus="8"),
            {"affinity": required({"key": "cpus", "operator": "Gt", "values": ["4"]})},
            True,
            id="affinity by number",
        ),
        pytest.param(
            node(),
            {"affinity": required({"key": "zone", "operator": "Exists"})},
            False,
            id="affinity to a label that is missing",
        ),
    ],
)
def test_where_a_pod_of_the_daemon_set_may_run(
    found: Any, settings: dict[str, Any], is_eligible: bool
) -> None:
    assert nodes.is_eligible(found, PrePullSettings(**settings)) is is_eligible
