"""Which fields of which kinds name images."""

from typing import Any

import pytest

from lading.kernel.errors import Malformed
from lading.pruning.engine.references import custom_paths, extraction, mirrors, names
from lading.pruning.engine.references.custom_paths import READY_MADE
from tests.pruning.builders import REGISTRY, pod

I = "registry.test/a/b:1"  # noqa: E741


def found(kind: str, group: str = "", **document: Any) -> list[str]:
    whole = {"metadata": {"name": "x", "namespace": "ns"}, **document}
    return [
        one.text
        for one in extraction.mentions(
            whole, kind=kind, group=group, cutoff=None, custom=READY_MADE
        )
    ]


SPEC = {"containers": [{"image": I}]}


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("Pod", {"spec": {"initContainers": [{"image": I}]}}),
        ("Pod", {"spec": {"ephemeralContainers": [{"image": I}]}}),
        ("Pod", {"spec": {"volumes": [{"image": {"reference": I}}]}}),
        ("Pod", {"status": {"containerStatuses": [{"imageID": I}]}}),
        ("Pod", {"status": {"initContainerStatuses": [{"imageID": I}]}}),
        ("Pod", {"spec": {"containers": [{"env": [{"name": "A", "value": I}]}]}}),
        ("Pod", {"spec": {"containers": [{"args": [I]}]}}),
        ("Pod", {"spec": {"containers": [{"command": [I]}]}}),
        ("PodTemplate", {"template": {"spec": SPEC}}),
        ("ControllerRevision", {"data": {"spec": {"template": {"spec": SPEC}}}}),
        ("CronJob", {"spec": {"jobTemplate": {"spec": {"template": {"spec": SPEC}}}}}),
        ("Build", {"status": {"outputDockerImageReference": I}}),
        ("Build", {"spec": {"output": {"to": {"kind": "DockerImage", "name": I}}}}),
        ("Build", {"spec": {"source": {"images": [{"from": {"kind": "DockerImage", "name": I}}]}}}),
        ("BuildConfig", {"spec": {"triggers": [{"imageChange": {"lastTriggeredImageID": I}}]}}),
        (
            "DeploymentConfig",
            {"spec": {"triggers": [{"imageChangeParams": {"lastTriggeredImage": I}}]}},
        ),
        ("ImageStream", {"spec": {"tags": [{"from": {"kind": "DockerImage", "name": I}}]}}),
        ("PinnedImageSet", {"spec": {"pinnedImages": [{"name": I}]}}),
    ],
)
def test_a_kind_names_an_image(kind: str, document: dict[str, Any]) -> None:
    assert found(kind, **document) == [I]


@pytest.mark.parametrize(
    ("group", "kind", "document"),
    [
        ("longhorn.io", "Image", {"spec": {"instanceManagerImage": I}}),
        ("serving.knative.dev", "Service", {"spec": {"template": {"spec": SPEC}}}),
        ("argoproj.io", "Workflow", {"spec": {"templates": [{"container": {"image": I}}]}}),
        ("argoproj.io", "Rollout", {"spec": {"template": {"spec": SPEC}}}),
        ("tekton.dev", "Task", {"spec": {"steps": [{"image": I}]}}),
        (
            "kubevirt.io",
            "VirtualMachine",
            {"spec": {"template": {"spec": {"volumes": [{"containerDisk": {"image": I}}]}}}},
        ),
        ("image.toolkit.fluxcd.io", "ImagePolicy", {"status": {"latestImage": I}}),
        (
            "helm.toolkit.fluxcd.io",
            "HelmRelease",
            {
                "spec": {
                    "values": {
                        "image": {"registry": "registry.test", "repository": "a/b", "tag": 1}
                    }
                }
            },
        ),
        ("operators.coreos.com", "CatalogSource", {"spec": {"image": I}}),
        (
            "operators.coreos.com",
            "ClusterServiceVersion",
            {"spec": {"relatedImages": [{"image": I}]}},
        ),
    ],
)
def test_custom_resources_name_images_by_ready_made_paths(
    group: str, kind: str, document: dict[str, Any]
) -> None:
    assert found(kind, group, **document)[:1] == [I]


def test_stream_tags_that_follow_others() -> None:
    tags = [
        {"from": {"kind": "ImageStreamTag", "name": "v1"}},
        {"from": {"kind": "ImageStreamTag", "name": "other:v2"}},
        {"from": {"kind": "ImageStreamTag", "name": "other:v3", "namespace": "far"}},
        {"from": {"kind": "ImageStreamImage", "name": "other@sha256:1"}},
    ]
    assert found("ImageStream", spec={"tags": tags}) == [
        "ns/x:v1",
        "ns/other:v2",
        "far/other:v3",
        "ns/other@sha256:1",
    ]


@pytest.mark.parametrize("odd", [None, 3, "text", [], [None], {"containers": 3}, {"volumes": [3]}])
def test_objects_of_another_shape_name_nothing_and_break_nothing(odd: Any) -> None:
    assert found("Pod", spec=odd, status=odd, metadata=odd) == []
    assert found("BuildConfig", spec=odd, status=odd) == []
    assert found("ImageStream", spec={"tags": odd}) == []


def test_a_pod_without_a_readable_time_is_not_old() -> None:
    from tests.pruning.builders import NOW

    one = pod(I, phase="Succeeded")
    one["metadata"]["creationTimestamp"] = "garbage"
    assert [*extraction.mentions(one, kind="Pod", cutoff=NOW)]


@pytest.mark.parametrize("text", ["", "A=$.x", "Kind.group", "Kind.group=$.[", ".g=$.x"])
def test_a_malformed_custom_path_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        custom_paths.parse(text)


def test_a_declared_path_is_read() -> None:
    declared = custom_paths.parse("App.example.com=$.spec.picture")
    document = {"spec": {"picture": I}}
    mentions = extraction.mentions(
        document, kind="App", group="example.com", cutoff=None, custom=(declared,)
    )
    assert [one.text for one in mentions] == [I]


def test_an_object_in_which_a_path_cannot_be_followed_names_all_its_texts() -> None:
    """One object of one user must not end every run, and may name an image."""
    document: dict[str, Any] = {"metadata": {"name": "deep", "namespace": "a"}}
    inner = document["spec"] = {}
    for _ in range(500):
        inner["values"] = inner = {}
    inner["image"] = f"{REGISTRY}/team/app:v1"
    path = custom_paths.parse("Database.example.com=$.spec..image")
    found = {one.text: one.found_in for one in path.mentions(document, "Database a/deep")}
    assert found[f"{REGISTRY}/team/app:v1"] == "Database a/deep"


def test_an_image_in_the_parameters_of_a_workflow_is_used() -> None:
    workflow = {
        "metadata": {"name": "nightly", "namespace": "ci"},
        "spec": {
            "workflowSpec": {
                "arguments": {"parameters": [{"name": "i", "value": "registry.test/team/app:v1"}]}
            }
        },
    }
    found = extraction.mentions(
        workflow, kind="CronWorkflow", cutoff=None, custom=READY_MADE, group="argoproj.io"
    )
    uses = names.gather(found, mirrors.registry_names(["registry.test"]))
    assert uses.tags == {("team/app", "v1"): ("CronWorkflow ci/nightly",)}
