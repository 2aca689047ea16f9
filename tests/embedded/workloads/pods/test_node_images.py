"""The images that a Node lists."""

from datetime import timedelta

from lading.embedded.workloads.actions import Patch
from lading.embedded.workloads.kinds import ListedImage, Node, NodeStatus
from lading.embedded.workloads.pods.node_images import ObservedImageList, listed, plan
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.ports import cri
from tests.embedded.workloads.builders import NOW, actions, node


def image(size_bytes: int, *tags: str, digests: tuple[str, ...] = ()) -> cri.Image:
    return cri.Image(
        id=f"sha256:{size_bytes}", size_bytes=size_bytes, repo_tags=tags, repo_digests=digests
    )


def planned(one: Node, images: tuple[cri.Image, ...]) -> Plan:
    return plan(ObservedImageList(node=one, images=images), NOW)


def test_the_largest_images_come_first_and_the_rest_is_left_out() -> None:
    found = listed(image(size) for size in range(60))
    assert len(found) == 50
    assert (found[0].size_bytes, found[-1].size_bytes) == (59, 10)


def test_digests_come_before_tags_and_the_rest_is_left_out() -> None:
    (found,) = listed([image(1, *"abcde", digests=("x@sha256:1",))])
    assert found.names == ("x@sha256:1", "a", "b", "c", "d")


def test_a_list_is_written_only_when_it_changed() -> None:
    images = (image(1, "a"),)
    one = node("n")
    (write,) = actions(planned(one, images), Patch)
    assert write.body["status"]["images"] == [{"names": ["a"], "sizeBytes": 1}]
    images_listed = (ListedImage(names=("a",), size_bytes=1),)
    one = replace(one, status=NodeStatus(images=images_listed))
    steady = planned(one, images)
    assert (steady.actions, steady.recheck_at) == ((), NOW + timedelta(seconds=10))
