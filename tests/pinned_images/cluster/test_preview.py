"""What a cluster would do with a set that is not applied yet."""

from lading.kernel.digests import Digest
from lading.kernel.images import ImageKey, Layer, Resolution
from lading.pinned_images.cluster import preview
from lading.pinned_images.cluster.preview import ClusterObjects, NodeFacts
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import PinSettings
from lading.ports.node import KubeletLimits, Space
from tests.pinned_images.cluster.build import (
    IMAGE,
    image_set,
    machine_config_node,
    node,
    pool,
)

MIB = 1024 * 1024
RESOLVED = {
    ImageKey(IMAGE): Resolution(
        manifest=IMAGE, layers=(Layer(str(Digest.of(b"layer")), 100 * MIB),)
    )
}


def previewed(
    before: ClusterObjects, *, listed: tuple[str, ...] = (), free_mib: int = 1000
) -> Preview:
    after = preview.after_applying(before, [image_set("new")])
    (chosen,) = preview.nodes_with_sets(after)
    facts = NodeFacts(
        report=next(iter(before.machine_config_nodes), None),
        image_names=frozenset(listed),
        space=Space(capacity_bytes=1000 * MIB, available_bytes=free_mib * MIB),
        limits=KubeletLimits(),
    )
    desired = preview.desired_of(chosen, after, handlers={}, settings=PinSettings())
    return preview.preview(desired, chosen, before.sets, facts, RESOLVED)


def test_a_set_reaches_the_nodes_of_the_pools_that_will_take_it() -> None:
    found = previewed(ClusterObjects(nodes=(node("a"),), pools=(pool(),)))
    assert found.node_name == "a"
    assert [key.image for key in found.to_pull] == [IMAGE]
    assert (found.pull_bytes, found.disk_bytes) == (100 * MIB, 200 * MIB)
    assert found.free_after_bytes == 800 * MIB


def test_what_the_node_lists_or_holds_already_costs_nothing() -> None:
    world = ClusterObjects(nodes=(node("a"),), pools=(pool(),))
    assert previewed(world, listed=(IMAGE,)).to_pull == ()
    holding = ClusterObjects(
        nodes=(node("a"),),
        pools=(pool(sets=("old",)),),
        sets=(image_set("old"),),
        machine_config_nodes=(machine_config_node("a", holds={"old": 1}),),
    )
    assert previewed(holding).to_pull == ()


def test_a_set_that_does_not_fit_is_refused_in_words() -> None:
    found = previewed(ClusterObjects(nodes=(node("a"),), pools=(pool(),)), free_mib=300)
    assert found.to_pull == ()
    assert "need 200 MiB of disk space" in found.refusals[0]


def test_a_set_that_no_pool_takes_reaches_no_node() -> None:
    world = ClusterObjects(nodes=(node("a"),), pools=(pool(),))
    after = preview.after_applying(world, [image_set("new", role="no-pool")])
    assert preview.nodes_with_sets(after) == ()
