"""What is generated from the features: fresh in the repository, and right for features to come."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.api.core import NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET, PINNED_IMAGE_SETS
from lading.api.rbac import Process, Right
from lading.kernel.feature_gates import Gate
from lading.loop.feature import Component, Feature, Kind
from lading.wiring import generate
from lading.wiring.features import FEATURES
from lading.wiring.gates import GATES
from lading.wiring.generate import rbac
from lading.wiring.rights import rights_of

REPOSITORY = Path(__file__).parents[2]
FILES = generate.files(REPOSITORY)
WRITTEN_BY_HAND = ("kustomization.yaml", "priority-class.yaml")
GENERATED_FOLDERS = ("deploy/crds", "deploy/optional", "deploy/chart/files")


def opened_never(context: Any) -> Any:
    raise AssertionError("generating opens nothing")


def feature(*rights: Right, reads: tuple[Kind, ...] = ()) -> Feature:
    return Feature(
        name="example",
        gate=Gate(name="Example", default=False, off="nothing happens"),
        summary="An example.",
        owns=(PINNED_IMAGE_SET,),
        controller=(Component(open=opened_never, reads=reads, rights=rights),),
    )


def documents(made: Feature, file: str = "base/rbac.yaml") -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(rbac.files((made,))[rbac.FOLDER / file]))


def roles(found: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The rules by namespace and name; a ClusterRole has no namespace."""
    return {
        (one["metadata"].get("namespace", ""), one["metadata"]["name"]): one["rules"]
        for one in found
        if one["kind"] in ("Role", "ClusterRole")
    }


def right(*resources: str, verbs: tuple[str, ...] = ("get",), **more: Any) -> Right:
    return Right(group="apps", resources=resources, verbs=verbs, **more)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_generated_file_is_fresh(path: Path) -> None:
    content = (REPOSITORY / path).read_text(encoding="utf-8")
    assert content == FILES[path], "run `make generate`"


def test_nothing_is_left_of_what_is_no_longer_generated() -> None:
    there = (one for folder in GENERATED_FOLDERS for one in (REPOSITORY / folder).rglob("*.yaml"))
    generated = (one for one in there if one.name not in WRITTEN_BY_HAND)
    assert {one.relative_to(REPOSITORY) for one in generated} <= FILES.keys()


@pytest.mark.parametrize("of", ["name", "gate"])
def test_no_two_features_have_the_same_name_or_gate(of: str) -> None:
    found = [getattr(one, of) for one in FEATURES]
    assert len(set(found)) == len(found)


def test_the_gates_of_options_are_those_of_the_features() -> None:
    assert tuple(one.gate for one in FEATURES if one.gate is not None) == GATES


def test_a_kind_that_is_read_may_be_listed_and_watched_where_it_is_read() -> None:
    reads = (Kind(resource=PINNED_IMAGE_SETS), Kind(resource=NODES, namespaces=("machines",)))
    found = roles(documents(feature(reads=reads)))
    read = {"verbs": ["get", "list", "watch"]}
    group = PINNED_IMAGE_SETS.group
    sets = {"apiGroups": [group], "resources": ["pinnedimagesets"], **read}
    assert sets in found["", "lading-controller"]
    nodes = {"apiGroups": [""], "resources": ["nodes"], **read}
    assert found["machines", "lading-controller-machines"] == [nodes]


def test_a_definition_is_read_by_the_processes_that_use_its_feature_only() -> None:
    found = roles(documents(feature(right("deployments"))))
    (rule,) = (one for one in found["", "lading-controller"] if "resourceNames" in one)
    assert rule["resourceNames"] == [PINNED_IMAGE_SET.name]
    assert all("lading-agent" not in name for _, name in found)


def test_names_and_the_verb_bind_become_part_of_the_rule() -> None:
    bind = Right(
        group="rbac.authorization.k8s.io",
        resources=("clusterroles",),
        verbs=("bind",),
        names=("lading-prune",),
    )
    assert {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles"],
        "resourceNames": ["lading-prune"],
        "verbs": ["bind"],
    } in roles(documents(feature(bind)))["", "lading-controller"]


def test_a_right_of_an_overlay_is_granted_by_the_overlay_only() -> None:
    made = feature(right("deployments"), right("daemonsets", overlay="daemons"))
    base, optional = documents(made), documents(made, "daemons/rbac.yaml")
    granted = [one for rules in roles(base).values() for rule in rules for one in rule["resources"]]
    assert "daemonsets" not in granted
    assert roles(optional) == {
        ("", "lading-controller-daemons"): [
            {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["get"]}
        ]
    }
    (binding,) = (one for one in optional if one["kind"] == "ClusterRoleBinding")
    assert binding["roleRef"]["name"] == "lading-controller-daemons"
    assert [one["name"] for one in binding["subjects"]] == ["lading-controller"]


def test_what_two_features_need_is_granted_once() -> None:
    reads = (Kind(resource=NODES),)
    found = rights_of(Process.CONTROLLER, (feature(reads=reads), feature(reads=reads)))
    assert [one.verbs for one in found if "nodes" in one.resources] == [("get", "list", "watch")]


def test_fewer_verbs_for_the_same_resource_are_no_rule_of_their_own() -> None:
    more = right("deployments", verbs=("get", "list"))
    found = rights_of(Process.CONTROLLER, (feature(right("deployments", "daemonsets"), more),))
    assert [(one.resources, one.verbs) for one in found if one.group == "apps"] == [
        (("daemonsets",), ("get",)),
        (("deployments",), ("get", "list")),
    ]


def test_a_right_for_one_name_or_namespace_does_not_stand_for_all() -> None:
    narrow = right("deployments", verbs=("get", "list"), namespaces=("one",))
    named = right("deployments", verbs=("get", "patch"), names=("one",))
    found = rights_of(Process.CONTROLLER, (feature(right("deployments"), narrow, named),))
    assert [one.verbs for one in found if one.group == "apps"] == [
        ("get",),
        ("get", "list"),
        ("get", "patch"),
    ]
