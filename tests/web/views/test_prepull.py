"""Images that worker nodes hold, in rows, a map, problems and a sentence."""

from typing import Any

import pytest

from lading.api.longhorn import Image, ImageFailure, ImageSpec, ImageStatus, Setting
from lading.kernel.objects import ObjectMeta
from lading.web.views import prepull


def image(**status: Any) -> Image:
    defaults: dict[str, Any] = {"state": "deployed", "node_count": 2, "deployed_node_count": 2}
    return Image(
        metadata=ObjectMeta(name="share", namespace="default"),
        spec=ImageSpec(image_url="registry.example.com/share:1"),
        status=ImageStatus(**{**defaults, **status}),
    )


def test_the_map_has_the_nodes_that_hold_it_and_the_fault_of_the_others() -> None:
    fault = ImageFailure(node="b", reason="NotFound", message="password=hunter22")
    one = image(node_deployment_map={"a": True, "c": False}, failures=(fault,))
    found = prepull.image_detail(one)["map"]
    assert [(each["node"], each["held"], each["reason"]) for each in found] == [
        ("a", True, ""),
        ("b", False, "NotFound"),
        ("c", False, ""),
    ]
    assert "hunter22" not in str(found)


@pytest.mark.parametrize(
    ("status", "urgency"),
    [
        ({}, []),
        ({"state": "error"}, ["ERROR"]),
        ({"state": "deploying", "failed_node_count": 1}, ["WARNING"]),
        ({"state": "deploying"}, []),
    ],
    ids=["deployed", "an error", "one node has a fault", "under way"],
)
def test_an_error_or_a_node_with_a_fault_is_a_problem(
    status: dict[str, Any], urgency: list[str]
) -> None:
    assert [one.urgency.name for one in prepull.problems([image(**status)])] == urgency


@pytest.mark.parametrize(
    ("states", "state", "sentence"),
    [
        (["deployed"], "ok", "Images that all worker nodes hold: 1 of 1."),
        (["deployed", "deploying"], "busy", "Images that all worker nodes hold: 1 of 2."),
        (["deployed", "error"], "error", "Images that all worker nodes hold: 1 of 2."),
        ([], "empty", "There is no Image."),
    ],
)
def test_the_feature_in_a_sentence(states: list[str], state: str, sentence: str) -> None:
    assert prepull.summary([image(state=one) for one in states], []) == (state, sentence)


def test_a_setting_that_is_false_is_said() -> None:
    state, sentence = prepull.summary([image()], [Setting(value="false")])
    assert (state, sentence.partition(":")[0]) == (
        "empty", "Setting start-pre-pull-manager-images is false",
    )  # fmt: skip
