"""Which nodes are in which pools, and which sets belong on a node."""

from typing import Any

import pytest

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.values import replace
from lading.pinned_images.membership import Membership
from tests.pinned_images.cluster.build import image_set, node, pool

MALFORMED = {"matchExpressions": [{"key": "a", "operator": "In"}]}


def sets_of(one: Node, pools: tuple[MachineConfigPool, ...], *sets: PinnedImageSet) -> list[str]:
    membership, labels = Membership(pools, sets), one.metadata.labels
    return sorted(membership.sets_of(membership.pools_of(labels), labels))


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        (None, False),
        ({}, False),
        ({"matchLabels": {}}, False),
        ({"matchExpressions": []}, False),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["2"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
        (MALFORMED, False),
    ],
)
def test_a_pool_with_an_empty_or_malformed_selector_has_no_nodes(
    selector: dict[str, Any] | None, is_selected: bool
) -> None:
    membership = Membership([pool("p", nodeSelector=selector)], [])
    assert membership.pools_of({"a": "1"}) == (("p",) if is_selected else ())


def test_a_node_without_a_role_label_is_a_worker() -> None:
    membership = Membership([pool()], [])
    assert membership.pools_of(node("n").metadata.labels) == ("worker",)
    assert membership.pools_of(node("n", control_plane=True).metadata.labels) == ()


def test_a_set_without_a_node_selector_is_for_every_node_of_its_pools() -> None:
    pools = (pool(sets=("s",)),)
    assert sets_of(node("n"), pools, image_set()) == ["s"]
    assert sets_of(node("n"), pools, image_set(nodeSelector={})) == ["s"]
    assert sets_of(node("n"), pools, image_set(nodeSelector=MALFORMED)) == []


def test_a_custom_pool_is_the_primary_one_then_master_then_worker() -> None:
    everywhere = {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}
    pools = [pool(name, nodeSelector=everywhere) for name in ("worker", "zoo", "master", "infra")]
    assert Membership(pools, []).pools_of({}) == ("infra", "zoo", "master", "worker")


def test_a_set_that_is_being_deleted_is_no_longer_wanted() -> None:
    one = image_set("s")
    going = replace(
        one,
        metadata=replace(one.metadata, deletion_timestamp="2026-01-01T00:00:00Z"),
    )
    pools = (pool(sets=("s",)),)
    assert sets_of(node("n"), pools, one) == ["s"]
    assert sets_of(node("n"), pools, going) == []


def test_a_node_takes_the_sets_of_all_its_pools_that_select_it() -> None:
    infra = pool("infra", sets=("i",), nodeSelector={"matchLabels": {"infra": "yes"}})
    narrow = image_set("narrow", nodeSelector={"matchLabels": {"gpu": "yes"}})
    sets = (image_set("i"), image_set("w"), narrow)
    pools = (pool(sets=("w", "narrow")), infra)
    assert sets_of(node("n", infra="yes"), pools, *sets) == ["i", "w"]
    assert sets_of(node("n", gpu="yes"), pools, *sets) == ["narrow", "w"]
