"""The built-in kinds are data that was read from a real kube-apiserver."""

import json
from importlib import resources
from typing import Any

import pytest

from lading.embedded.kube import builtins
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema import structural, validation

KINDS = {(kind.group, kind.kind): kind for kind in builtins.kinds()}


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
    text = resources.files("lading.embedded.kube.builtins").joinpath("structures.json").read_text()

    def longest(value: Any) -> int:
        if isinstance(value, dict):
            return max(map(longest, value.values()), default=0)
        if isinstance(value, list):
            return max(map(longest, value), default=0)
        return len(value) if isinstance(value, str) else 0

    assert longest(json.loads(text)) < 120


@pytest.mark.parametrize("kind", builtins.kinds(), ids=lambda kind: f"{kind.group}/{kind.kind}")
def test_a_bare_object_of_every_kind_passes_its_schema(kind: Resource) -> None:
    document = {"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": "x"}}
    kept, unknown = structural.prune(kind.schema, document)
    assert (kept, unknown) == (document, [])
    assert structural.default(kind.schema, document) == document
    assert validation.validate(kind.schema, document) == []


def test_an_empty_text_stands_for_no_choice_and_a_wrong_one_is_refused() -> None:
    schema = KINDS["", "Pod"].schema
    assert validation.validate(schema, {"spec": {"restartPolicy": ""}}) == []
    (cause,) = validation.validate(schema, {"spec": {"restartPolicy": "Sometimes"}})
    assert cause.field == "spec.restartPolicy"
