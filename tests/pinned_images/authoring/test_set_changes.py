"""New sets for a list of images, and the images that an edit adds and frees."""

import pytest

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.images import ImageKey, Layer, Resolution
from lading.pinned_images.authoring import set_changes
from lading.pinned_images.authoring.set_changes import PinnedFor
from tests.pinned_images.cluster.build import image_set

A, B, C = (f"example.com/{name}@sha256:{'0' * 64}" for name in "abc")


def set_of(name: str, *, images: tuple[str, ...]) -> PinnedImageSet:
    return image_set(name, pinnedImages=[{"name": image} for image in images])


def resolution(**layers: int) -> Resolution:
    return Resolution(manifest="", layers=tuple(Layer(name, size) for name, size in layers.items()))


def test_an_edit_shows_what_it_adds_and_frees() -> None:
    (found,) = set_changes.diffs([set_of("s", images=(A, B))], [set_of("s", images=(B, C))])
    assert (found.name, found.is_new) == ("s", False)
    assert (found.added, found.freed) == ((PinnedFor(C),), (PinnedFor(A),))
    assert not found.changes_nothing


def test_an_image_that_another_set_has_is_not_freed() -> None:
    before = [set_of("s", images=(A, B)), set_of("t", images=(A,))]
    (found,) = set_changes.diffs(before, [set_of("s", images=(B,))])
    assert (found.freed, found.still_pinned) == ((), ((PinnedFor(A), ("t",)),))


def test_an_image_that_both_edited_sets_lose_is_freed_by_both() -> None:
    before = [set_of("s", images=(A, B)), set_of("t", images=(A, B))]
    found = set_changes.diffs(before, [set_of("s", images=(B,)), set_of("t", images=(B,))])
    assert [one.freed for one in found] == [(PinnedFor(A),)] * 2


def test_a_new_set_and_one_without_a_change() -> None:
    new, same = set_changes.diffs(
        [set_of("old", images=(A,))],
        [set_of("new", images=(A,)), set_of("old", images=(A,))],
    )
    assert (new.is_new, new.added) == (True, (PinnedFor(A),))
    assert same.changes_nothing


def test_shared_layers_are_neither_pulled_nor_freed() -> None:
    before, edited = [set_of("s", images=(A, B))], [set_of("s", images=(B, C))]
    resolutions = {
        ImageKey(A): resolution(base=100, a=10),
        ImageKey(B): resolution(base=100, b=20),
        ImageKey(C): resolution(base=100, c=7),
    }
    found = set_changes.diffs(before, edited)
    assert set_changes.sizes(before, edited, found, resolutions) == (7, 10, ())
    del resolutions[ImageKey(C)]
    assert set_changes.sizes(before, edited, found, resolutions) == (0, 10, (C,))


def names(count: int) -> list[str]:
    return [f"example.com/app@sha256:{number:064x}" for number in range(count)]


def test_a_set_has_its_name_role_and_images_once_and_in_order() -> None:
    one, two = names(2)
    (made,) = set_changes.new_sets("mine", [two, one, two], role="infra")
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
    sets = set_changes.new_sets("mine", names(count), role="worker")
    assert {one["metadata"]["name"]: len(one["spec"]["pinnedImages"]) for one in sets} == made
    assert {image["name"] for one in sets for image in one["spec"]["pinnedImages"]} == set(
        names(count)
    )


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a.", "a" * 251])
def test_a_name_that_the_api_refuses_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match="name of a set"):
        set_changes.check_names(name, "worker")


def test_a_role_that_no_label_takes_is_refused() -> None:
    with pytest.raises(Malformed, match="role"):
        set_changes.check_names("mine", "a/b")


def test_the_tags_that_images_were_named_by_are_in_the_set() -> None:
    one, two = names(2)
    by_tags = [one.replace("@", ":v1@"), one.replace("@", ":stable@"), two]
    (made,) = set_changes.new_sets("mine", by_tags, role="worker")
    tagged = {"name": one, "tags": ["stable", "v1"]}
    assert made["spec"] == {"pinnedImages": [tagged, {"name": two}]}


def test_a_tag_of_several_images_is_no_tag_of_the_set() -> None:
    one, two = names(2)
    by_tag = [one.replace("@", ":v1@"), two.replace("@", ":v1@")]
    (made,) = set_changes.new_sets("mine", by_tag, role="worker")
    assert made["spec"] == {"pinnedImages": [{"name": one}, {"name": two}]}
    assert set_changes.ambiguous_tags(map(references.parse, by_tag)) == {("example.com/app", "v1")}
