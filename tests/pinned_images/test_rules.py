"""Who belongs to whom: nodes to pools, sets to pools, and so sets to nodes."""

from typing import Any

import msgspec
import pytest

from lading.kernel.selectors import LabelSelector
from lading.kernel.values import replace
from lading.pinned_images import rules
from tests.pinned_images.cluster.build import image_set, node, pool

IN_WITHOUT_VALUES = {"matchExpressions": [{"key": "a", "operator": "In"}]}


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        (None, False),
        ({}, False),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["2"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
        (IN_WITHOUT_VALUES, False),
    ],
)
def test_a_selector_that_says_nothing_or_nonsense_selects_nothing(
    selector: dict[str, Any] | None, is_selected: bool
) -> None:
    read = None if selector is None else msgspec.convert(selector, LabelSelector)
    assert rules.selects(read, {"a": "1"}) is is_selected


def test_a_set_without_a_selector_of_its_own_takes_every_node_of_its_pools() -> None:
    assert rules.set_takes_node(image_set(), node("n"))
    assert rules.set_takes_node(image_set(nodeSelector={}), node("n"))
    assert not rules.set_takes_node(image_set(nodeSelector=IN_WITHOUT_VALUES), node("n"))


def test_a_custom_pool_is_the_primary_one_then_master_then_worker() -> None:
    everywhere = {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}
    pools = [pool(name, nodeSelector=everywhere) for name in ("worker", "zoo", "master", "infra")]
    names = [one.metadata.name for one in rules.pools_of_node(node("n"), pools)]
    assert names == ["infra", "zoo", "master", "worker"]


def test_a_set_that_is_being_deleted_is_no_longer_wanted() -> None:
    one = image_set("s")
    going = replace(
        one,
        metadata=replace(one.metadata, deletion_timestamp="2026-01-01T00:00:00Z"),
    )
    pools = (pool(sets=("s",)),)
    assert rules.sets_of_node(node("n"), pools, [one]) == (one,)
    assert rules.sets_of_node(node("n"), pools, [going]) == ()
