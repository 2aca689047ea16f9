"""The chart without Helm: its defaults are those of the manifests. `make real` renders it."""

import json
from typing import Any

import pytest
import yaml

from lading.wiring import chart_schema
from lading.wiring.features import DEFINITIONS
from lading.wiring.gates import GATES
from lading.wiring.generate_rbac import WRITTEN_BY_USERS
from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY, Document

CHART = DEPLOY / "chart"
VALUES: Document = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: Document = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
NEVER_WRITTEN_BY_USERS = {"machineconfignodes", "machinesetbootimagehistories"}


def pod(component: str) -> Document:
    (workload,) = (
        one
        for one in manifests.base()
        if one["kind"] in ("Deployment", "DaemonSet")
        and one["metadata"]["name"] == f"lading-{component}"
    )
    found: Document = workload["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("component", ["controller", "agent"])
def test_the_defaults_are_those_of_the_manifests(component: str) -> None:
    of_pod = pod(component)
    (container,) = of_pod["containers"]
    values = VALUES[component]
    assert values["resources"] == container["resources"]
    for key in ("tolerations", "priorityClassName", "nodeSelector"):
        assert values[key] == of_pod[key]


@pytest.mark.parametrize("runtime", ["containerd", "cri-o"])
def test_the_folders_are_those_of_the_overlays(runtime: str) -> None:
    (patch,) = manifests.overlay(runtime)
    volumes = patch["spec"]["template"]["spec"]["volumes"]
    folders = {one["name"]: one["hostPath"]["path"] for one in volumes}
    assert VALUES["folders"][runtime] == folders


def test_the_schema_knows_every_gate_and_no_other_key() -> None:
    gates = SCHEMA["properties"]["featureGates"]
    assert set(gates["properties"]) == {gate.name for gate in GATES}
    assert gates["additionalProperties"] is SCHEMA["additionalProperties"] is False


def test_a_value_without_a_place_in_the_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="mine needs an entry"):
        chart_schema.schema({"mine": [1]}, ())


def test_every_kind_is_written_by_a_role_of_users_or_by_lading_only() -> None:
    kinds = {one.plural for one in DEFINITIONS}
    assert kinds == set(WRITTEN_BY_USERS) | NEVER_WRITTEN_BY_USERS


def rules_of(role: str) -> dict[str, Any]:
    (found,) = (one for one in manifests.base() if one["metadata"]["name"] == role)
    assert found["metadata"]["labels"] == {
        f"rbac.authorization.k8s.io/aggregate-to-{role.removeprefix('lading-')}": "true"
    }
    return {resource: one["verbs"] for one in found["rules"] for resource in one["resources"]}


def test_a_viewer_reads_every_kind_and_an_editor_writes_sets_and_images() -> None:
    assert set(map(tuple, rules_of("lading-view").values())) == {("get", "list", "watch")}
    assert set(rules_of("lading-view")) == {one.plural for one in DEFINITIONS}
    assert set(rules_of("lading-edit")) == {"pinnedimagesets", "images"}
