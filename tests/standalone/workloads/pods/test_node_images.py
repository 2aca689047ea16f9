"""What a node says about its images."""

from datetime import timedelta

from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.ports import cri
from lading.standalone.workloads.kinds import ListedImage, Node, NodeStatus
from lading.standalone.workloads.pods.node_images import (
    ObservedImageList,
    WriteImages,
    listed,
    plan,
)
from tests.standalone.workloads.builders import NOW, actions, node


def image(size_bytes: int, *tags: str, digests: tuple[str, ...] = ()) -> cri.Image:
    return cri.Image(
        id=f"sha256:{size_bytes}", size_bytes=size_bytes, repo_tags=tags, repo_digests=digests
    )


def planned(one: Node, images: tuple[cri.Image, ...]) -> Plan:
    return plan(ObservedImageList(node=one, images=images), NOW, interval=timedelta(seconds=10))


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
    (write,) = actions(planned(one, images), WriteImages)
    assert write.images == (ListedImage(names=("a",), size_bytes=1),)
    one = replace(one, status=NodeStatus(images=write.images))
    steady = planned(one, images)
    assert (steady.actions, steady.recheck_at) == ((), NOW + timedelta(seconds=10))
