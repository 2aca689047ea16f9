"""What an edit adds and frees, and what another set keeps pinned."""

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.images import ImageKey, Layer, Resolution
from lading.pinned_images import set_diff
from lading.pinned_images.set_diff import PinnedFor
from tests.pinned_images.cluster.build import image_set

A, B, C = (f"example.com/{name}@sha256:{'0' * 64}" for name in "abc")


def set_of(name: str, *, images: tuple[str, ...]) -> PinnedImageSet:
    return image_set(name, pinnedImages=[{"name": image} for image in images])


def resolution(**layers: int) -> Resolution:
    return Resolution(manifest="", layers=tuple(Layer(name, size) for name, size in layers.items()))


def test_an_edit_shows_what_it_adds_and_frees() -> None:
    (found,) = set_diff.diffs([set_of("s", images=(A, B))], [set_of("s", images=(B, C))])
    assert (found.name, found.is_new) == ("s", False)
    assert (found.added, found.freed) == ((PinnedFor(C),), (PinnedFor(A),))
    assert not found.changes_nothing


def test_an_image_that_another_set_has_is_not_freed() -> None:
    before = [set_of("s", images=(A, B)), set_of("t", images=(A,))]
    (found,) = set_diff.diffs(before, [set_of("s", images=(B,))])
    assert (found.freed, found.still_pinned) == ((), ((PinnedFor(A), ("t",)),))


def test_an_image_that_both_edited_sets_lose_is_freed_by_both() -> None:
    before = [set_of("s", images=(A, B)), set_of("t", images=(A, B))]
    found = set_diff.diffs(before, [set_of("s", images=(B,)), set_of("t", images=(B,))])
    assert [one.freed for one in found] == [(PinnedFor(A),)] * 2


def test_a_new_set_and_one_without_a_change() -> None:
    new, same = set_diff.diffs(
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
    found = set_diff.diffs(before, edited)
    assert set_diff.sizes(before, edited, found, resolutions) == (7, 10, ())
    del resolutions[ImageKey(C)]
    assert set_diff.sizes(before, edited, found, resolutions) == (0, 10, (C,))
