"""The chart without Helm: its defaults are those of the manifests. `make real` renders it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import lading
from lading.wiring.features import DEFINITIONS
from lading.wiring.gates import GATES
from lading.wiring.generate.rbac import WRITTEN_BY_USERS
from tests.cli.commands import COMMANDS
from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY, Document

CHART = DEPLOY / "chart"
VALUES: Document = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: Document = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
NEVER_WRITTEN_BY_USERS = {"machineconfignodes", "machinesetbootimagehistories"}


def spec_of(component: str) -> Document:
    """Of the Deployment of the controller, or of the DaemonSet of the agents."""
    (workload,) = (
        one
        for one in manifests.base()
        if one["kind"] in ("Deployment", "DaemonSet")
        and one["metadata"]["name"] == f"lading-{component}"
    )
    found: Document = workload["spec"]
    return found


def pod(component: str) -> Document:
    found: Document = spec_of(component)["template"]["spec"]
    return found


@pytest.mark.parametrize("component", ["controller", "agent"])
def test_the_defaults_are_those_of_the_manifests(component: str) -> None:
    of_pod = pod(component)
    (container,) = of_pod["containers"]
    values = VALUES[component]
    assert values["resources"] == container["resources"]
    for key in ("tolerations", "priorityClassName", "nodeSelector"):
        assert values[key] == of_pod[key]


def test_the_defaults_of_numbers_and_names_are_those_of_the_manifests() -> None:
    assert VALUES["controller"]["replicas"] == spec_of("controller")["replicas"]
    agent, spec = VALUES["agent"], spec_of("agent")
    assert agent["maxUnavailable"] == spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"]
    (container,) = pod("agent")["containers"]
    assert f"--metrics-port={agent['metricsPort']}" in container["args"]
    secrets = [one["secret"]["secretName"] for one in pod("agent")["volumes"] if "secret" in one]
    assert agent["pullSecrets"] == secrets
    options = {one.name: one.default for one in COMMANDS["lading agent"].params}
    assert agent["kubeletPort"] == options["kubelet_port"]
    assert agent["metricsHost"] == options["metrics_host"]


def test_the_page_lists_every_group_of_values_with_its_defaults() -> None:
    page = (DEPLOY.parent / "docs" / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[\w.*]+`(?:, `[\w.*]+`)*) \| ([^|]*)\|", page, re.MULTILINE)
    named = [(re.findall("`([^`]+)`", names), cell) for names, cell in rows]
    assert {one.partition(".")[0] for names, _ in named for one in names} >= VALUES.keys()
    shown = [(names, re.findall("`([^`]+)`", cell)) for names, cell in named if "`" in cell]
    assert len(shown) > len(named) / 2
    for names, defaults in shown:
        for index, name in enumerate(names):
            written = yaml.safe_load(defaults[min(index, len(defaults) - 1)])
            assert written == value(name), name


def test_the_page_names_the_oldest_kubernetes_that_the_chart_accepts() -> None:
    page = (DEPLOY.parent / "docs" / "install.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"You need Kubernetes ([\d.]+) or later", page)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["kubeVersion"] == f">={named}.0-0"


def value(path: str) -> Any:
    found: Any = VALUES
    for key in path.split("."):
        found = found[key]
    return found


@pytest.mark.parametrize("runtime", ["containerd", "cri-o"])
def test_the_folders_are_those_of_the_overlays(runtime: str) -> None:
    (patch,) = manifests.overlay(runtime)
    volumes = patch["spec"]["template"]["spec"]["volumes"]
    folders = {one["name"]: one["hostPath"]["path"] for one in volumes}
    assert VALUES["folders"][runtime] == folders


def test_the_schema_knows_every_gate_with_its_default() -> None:
    gates = SCHEMA["properties"]["featureGates"]
    found = {name: one["default"] for name, one in gates["properties"].items()}
    assert found == {gate.name: gate.default for gate in GATES}
    assert gates["additionalProperties"] is False


def keys(schema: Document, values: Any, path: str = "") -> Iterator[tuple[str, set[str], set[str]]]:
    """For each object of fixed keys: its path, the keys of the schema, those of values.yaml."""
    if schema.get("additionalProperties") is False:
        yield path, set(schema["properties"]), set(values)
        for key in values:
            yield from keys(schema["properties"][key], values[key], f"{path}.{key}")


def test_the_schema_has_the_keys_of_the_values_and_no_other() -> None:
    found = [one for one in keys(SCHEMA, VALUES) if one[0] != ".featureGates"]
    assert len(found) > 10
    for path, known, used in found:
        assert known == used | ({"global"} if not path else set()), path


def test_the_chart_has_the_version_of_lading() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == lading.__version__


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
