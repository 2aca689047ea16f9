"""A list of images becomes sets that the API takes."""

import pytest

from lading.kernel.errors import Malformed
from lading.pinned_images import new_sets


def names(count: int) -> list[str]:
    return [f"example.com/app@sha256:{number:064x}" for number in range(count)]


def test_a_set_has_its_name_role_and_images_once_and_in_order() -> None:
    one, two = names(2)
    (made,) = new_sets.new_sets("mine", [two, one, two], role="infra")
    assert made["metadata"] == {
        "name": "mine",
        "labels": {"machineconfiguration.openshift.io/role": "infra"},
    }
    assert made["spec"] == {"pinnedImages": [{"name": one}, {"name": two}]}


@pytest.mark.parametrize(
    ("count", "made"),
    [
        (500, {"mine": 500}),
        (501, {"mine": 500, "mine-2": 1}),
        (1200, {"mine": 500, "mine-2": 500, "mine-3": 200}),
    ],
)
def test_more_than_500_images_are_split(count: int, made: dict[str, int]) -> None:
    sets = new_sets.new_sets("mine", names(count), role="worker")
    assert {one["metadata"]["name"]: len(one["spec"]["pinnedImages"]) for one in sets} == made
    assert {image["name"] for one in sets for image in one["spec"]["pinnedImages"]} == set(
        names(count)
    )


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a.", "a" * 251])
def test_a_name_that_the_api_refuses_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match="name of a set"):
        new_sets.check_names(name, "worker")


def test_a_role_that_no_label_takes_is_refused() -> None:
    with pytest.raises(Malformed, match="role"):
        new_sets.check_names("mine", "a/b")
