"""The built-in kinds are data that was read from a real kube-apiserver."""

import json
from importlib import resources
from typing import Any

import pytest

from lading.servers.kube import builtins
from lading.servers.kube.builtins import generate
from lading.servers.kube.schema import structural

KINDS = {(kind.group, kind.kind): kind for kind in builtins.kinds()}


def test_every_kind_that_the_features_and_kubectl_use_is_there() -> None:
    assert {
        ("", "ConfigMap"),
        ("", "Event"),
        ("", "Namespace"),
        ("", "Node"),
        ("", "Pod"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apps", "DaemonSet"),
        ("coordination.k8s.io", "Lease"),
        ("events.k8s.io", "Event"),
        ("node.k8s.io", "RuntimeClass"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
    } <= KINDS.keys()


def test_a_kind_knows_its_names_scope_and_subresources() -> None:
    kind = KINDS["apps", "DaemonSet"]
    assert (kind.plural, kind.singular, kind.short_names) == ("daemonsets", "daemonset", ("ds",))
    assert (kind.namespaced, kind.categories, kind.subresources) == (True, ("all",), ("status",))
    assert "deletecollection" in kind.verbs
    assert not KINDS["", "Node"].namespaced


def test_list_types_and_merge_keys_are_kept() -> None:
    pod = KINDS["", "Pod"].schema["properties"]["spec"]["properties"]
    assert pod["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert pod["containers"]["x-kubernetes-patch-merge-key"] == "name"
    ports = pod["containers"]["items"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    owner = builtins.object_metadata()["properties"]["ownerReferences"]["items"]
    assert owner["x-kubernetes-map-type"] == "atomic"


def test_references_are_followed_even_in_a_circle() -> None:
    version = KINDS["apiextensions.k8s.io", "CustomResourceDefinition"].schema["properties"]
    schema = version["spec"]["properties"]["versions"]["items"]["properties"]["schema"]
    props = schema["properties"]["openAPIV3Schema"]
    assert props["properties"]["not"] is props


def test_there_is_no_prose() -> None:
    text = resources.files("lading.servers.kube.builtins").joinpath("structures.json").read_text()

    def longest(value: Any) -> int:
        if isinstance(value, dict):
            return max(map(longest, value.values()), default=0)
        if isinstance(value, list):
            return max(map(longest, value), default=0)
        return len(value) if isinstance(value, str) else 0

    assert longest(json.loads(text)) < 120


@pytest.mark.parametrize("kind", builtins.kinds(), ids=lambda kind: f"{kind.group}/{kind.kind}")
def test_a_bare_object_of_every_kind_passes_its_schema(kind: builtins.Kind) -> None:
    document = {"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": "x"}}
    kept, unknown = structural.prune(kind.schema, document)
    assert (kept, unknown) == (document, [])
    assert structural.default(kind.schema, document) == document
    assert structural.validate(kind.schema, document) == []


def test_an_empty_text_stands_for_no_choice_and_a_wrong_one_is_refused() -> None:
    schema = KINDS["", "Pod"].schema
    assert structural.validate(schema, {"spec": {"restartPolicy": ""}}) == []
    (cause,) = structural.validate(schema, {"spec": {"restartPolicy": "Sometimes"}})
    assert cause.field == "spec.restartPolicy"


def test_structures_are_made_from_what_a_server_answers() -> None:
    reference = {"$ref": "#/components/schemas/io.k8s.Meta", "description": "prose"}
    schemas = {
        "io.k8s.Pod": {
            "type": "object",
            "description": "prose",
            "required": ["spec"],
            "properties": {
                "metadata": {"allOf": [reference], "default": {}},
                "description": {"type": "string", "description": "a field of this name"},
                "port": {"format": "int-or-string", "oneOf": [{"type": "string"}]},
                "raw": {"type": "object"},
                "mode": {"type": "string", "default": "Auto"},
            },
            "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
        },
        "io.k8s.Meta": {"type": "object", "properties": {"name": {"type": "string"}}},
        "io.k8s.Unused": {"type": "object"},
    }
    resource = {
        "resource": "pods",
        "responseKind": {"kind": "Pod"},
        "scope": "Namespaced",
        "singularResource": "pod",
        "verbs": ["get"],
        "subresources": [{"subresource": "status"}, {"subresource": "exec"}],
    }
    group = {"metadata": {}, "versions": [{"version": "v1", "resources": [resource]}]}

    def get(path: str, accept: str) -> Any:
        if path.startswith("/openapi"):
            return {"components": {"schemas": schemas if path.endswith("/api/v1") else {}}}
        answers = {"/version": {"gitVersion": "v1"}, "/api": {"items": [group]}}
        return answers.get(path, {"items": []})

    made = generate.read(get)
    assert [kind["subresources"] for kind in made["kinds"]] == [["status"]]
    assert set(made["definitions"]) == {"io.k8s.Pod", "io.k8s.Meta"}
    assert made["definitions"]["io.k8s.Pod"]["properties"] == {
        "metadata": {"$ref": "#/components/schemas/io.k8s.Meta"},
        "description": {"type": "string"},
        "port": {"x-kubernetes-int-or-string": True},
        "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "mode": {"type": "string", "default": "Auto"},
    }
