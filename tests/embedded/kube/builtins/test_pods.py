"""What a new pod gets from admission."""

from typing import Any

import pytest

from lading.embedded.kube.builtins import pods

AMOUNTS = {"cpu": "1", "memory": "1Gi"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"limits": {"example.com/device": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "1", "memory": "1Mi"}, "limits": AMOUNTS}, "Burstable"),
        ({"requests": AMOUNTS, "limits": AMOUNTS}, "Guaranteed"),
    ],
)
def test_the_class_of_service_follows_from_the_resources(
    resources: dict[str, Any], expected: str
) -> None:
    spec = {"containers": [{"name": "c", "resources": resources}]}
    assert pods.service_class(spec) == expected


def test_a_lost_node_is_tolerated_for_a_while_unless_the_pod_says_how() -> None:
    keys = [each["key"] for each in pods.admitted(pod())["spec"]["tolerations"]]
    assert keys == ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
    everything = [{"operator": "Exists"}]
    assert pods.admitted(pod(tolerations=everything))["spec"]["tolerations"] == everything


def test_an_account_is_written_in_both_fields() -> None:
    spec = pods.admitted(pod(serviceAccountName="robot"))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("robot", "robot")
