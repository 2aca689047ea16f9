"""The schema of the chart's values takes what works, and refuses what a pod could not run with."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.wiring import chart_schema
from lading.wiring.gates import GATES
from tests.wiring import json_schema

VALUES: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "deploy" / "chart" / "values.yaml").read_text(encoding="utf-8")
)
SCHEMA = chart_schema.schema(VALUES, GATES)
REMOVED = object()
POOL = {"name": "gpu", "runtime": "cri-o", "nodeSelector": {"pool": "gpu"}}


def found(path: str, value: object) -> list[str]:
    """What the schema refuses when one value is another. Helm removes a key that is null."""
    *parents, last = path.split("/")
    values = copy.deepcopy(VALUES)
    place = values
    for name in parents:
        place = place[name]
    if value is REMOVED:
        place.pop(last)
    else:
        place[last] = value
    return list(json_schema.problems(SCHEMA, values))


def test_the_defaults_are_accepted() -> None:
    assert list(json_schema.problems(SCHEMA, VALUES)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("global", {"a": 1}),
        ("image/repository", "registry.example.com:5000/team/lading"),
        ("image/repository", "[fd00::1]:5000/lading"),
        ("image/tag", "0.1.0-rc.1"),
        ("image/digest", f"sha256:{'0' * 64}"),
        ("imagePullSecrets", [{"name": "my.secret"}]),
        ("featureGates/PrePull", False),
        ("nodePools", [POOL, {**POOL, "name": "a" * 40}]),
        ("agent/metricsHost", "0.0.0.0"),
        ("agent/maxUnavailable", 1),
        ("agent/maxUnavailable", "100%"),
        ("agent/pullSecrets", []),
        ("agent/namespace", "lading-agents"),
        ("folders/containerd/runtime-socket", "/run/k3s/containerd"),
        ("monitoring/interval", "1m"),
        ("networkPolicy/from", [{"podSelector": {}}]),
        *(
            (f"{component}/{key}", REMOVED)
            for component in ("agent", "controller")
            for key in ("resources", "nodeSelector", "tolerations", "priorityClassName")
        ),
        ("featureGates", REMOVED),
        ("nodePools", REMOVED),
        ("image/tag", REMOVED),
    ],
)
def test_a_value_that_works_is_accepted(path: str, value: object) -> None:
    assert found(path, value) == []


@pytest.mark.parametrize(
    ("path", "value", "keyword"),
    [
        ("controler", {}, "additionalProperties"),
        ("agent/resource", {}, "additionalProperties"),
        ("folders/containerd/socket", "/run", "additionalProperties"),
        ("featureGates/Pinned", True, "additionalProperties"),
        ("featureGates/PrePull", "true", "type"),
        ("agent", None, "type"),
        ("agent", [], "type"),
        ("controller/replicas", "2", "type"),
        ("controller/replicas", True, "type"),
        ("controller/replicas", -1, "bounds"),
        ("controller/extraArgs", "--log-level=debug", "type"),
        ("controller/extraArgs", [""], "length"),
        ("controller/extraArgs", [{"a": 1}], "type"),
        ("runtime", "docker", "enum"),
        ("runtime", "", "enum"),
        ("image/repository", "", "pattern"),
        ("image/repository", "registry.example.com/lading:0.1.0", "pattern"),
        ("image/repository", "lading@sha256:0", "pattern"),
        ("image/tag", 0.1, "type"),
        ("image/tag", "a b", "pattern"),
        ("image/tag", f"sha256:{'0' * 64}", "pattern"),
        ("image/digest", "latest", "pattern"),
        ("image/digest", "0" * 64, "pattern"),
        ("image/pullPolicy", "always", "enum"),
        ("imagePullSecrets", ["my-secret"], "type"),
        ("imagePullSecrets", [{"nmae": "my-secret"}], "required"),
        ("imagePullSecrets", [{"name": ""}], "pattern"),
        ("nodePools", [{**POOL, "runtime": "docker"}], "enum"),
        ("nodePools", [{**POOL, "name": "GPU"}], "pattern"),
        ("nodePools", [{**POOL, "name": "a" * 41}], "length"),
        ("nodePools", [{**POOL, "nodeSelector": {}}], "minProperties"),
        ("nodePools", [{**POOL, "nodeSelector": {"gpu": True}}], "type"),
        ("nodePools", [{**POOL, "tolerations": []}], "additionalProperties"),
        ("nodePools", [{"name": "gpu", "runtime": "cri-o"}], "required"),
        ("nodePools", POOL, "type"),
        ("agent/namespace", "Agents", "pattern"),
        ("agent/namespace", "a" * 64, "length"),
        ("agent/pullSecrets", "lading-pull-secrets", "type"),
        ("agent/pullSecrets", [""], "pattern"),
        ("agent/pullSecrets", ['a", b: "c'], "pattern"),
        ("agent/pullSecrets", ["../a"], "pattern"),
        ("agent/pullSecrets", ["a", "a"], "uniqueItems"),
        ("agent/metricsPort", 0, "bounds"),
        ("agent/metricsPort", 65536, "bounds"),
        ("agent/kubeletPort", "10250", "type"),
        ("agent/metricsHost", "", "enum"),
        ("agent/metricsHost", "::", "enum"),
        ("agent/metricsHost", "localhost", "enum"),
        ("agent/maxUnavailable", 0, "bounds"),
        ("agent/maxUnavailable", "10", "pattern"),
        ("agent/maxUnavailable", "0%", "pattern"),
        ("agent/maxUnavailable", 0.1, "type"),
        ("agent/nodeSelector", {"gpu": True}, "type"),
        ("agent/tolerations", ["all"], "type"),
        ("folders/cri-o/runtime-socket", "run/crio", "pattern"),
        ("folders/cri-o/runtime-socket", "/", "pattern"),
        ("folders/cri-o/runtime-socket", "/run/crio/", "pattern"),
        ("folders/cri-o/runtime-socket", "/run/a: b", "pattern"),
        ("folders/containerd", "/run/containerd", "type"),
        ("crds/install", "yes", "type"),
        ("monitoring/enabled", 1, "type"),
        ("monitoring/interval", "", "pattern"),
        ("monitoring/interval", "30", "pattern"),
        ("monitoring/interval", 30, "type"),
        ("monitoring/labels", {"release": 1}, "type"),
        ("networkPolicy/from", {"podSelector": {}}, "type"),
        ("agent/metricsPort", REMOVED, "required"),
        ("agent/maxUnavailable", REMOVED, "required"),
        ("folders/containerd/runtime-socket", REMOVED, "required"),
        ("controller", REMOVED, "required"),
        ("image/repository", REMOVED, "required"),
    ],
)
def test_a_value_that_no_pod_could_run_with_is_refused(
    path: str, value: object, keyword: str
) -> None:
    refused = found(path, value)
    assert refused
    assert refused[0].startswith(f".{path.replace('/', '.')}")
    assert keyword in refused[0]


def test_a_default_without_a_place_in_the_schema_is_an_error() -> None:
    with pytest.raises(ValueError, match="mine needs an entry"):
        chart_schema.schema({"mine": [1]}, ())


def test_every_object_of_the_values_is_closed() -> None:
    """But those that Kubernetes describes, and `global`, which belongs to Helm."""
    assert set(open_objects(SCHEMA, "")) == {
        ".global",
        *(f".{one}.resources" for one in ("agent", "controller")),
        *(f".{one}.tolerations[]" for one in ("agent", "controller")),
        ".networkPolicy.from[]",
    }


def open_objects(schema: dict[str, Any], path: str) -> list[str]:
    below = [
        *((one, f"{path}.{key}") for key, one in schema.get("properties", {}).items()),
        *([(schema["items"], f"{path}[]")] if "items" in schema else []),
    ]
    is_open = schema.get("type") == "object" and "additionalProperties" not in schema
    return [*([path] if is_open else []), *(name for one in below for name in open_objects(*one))]
