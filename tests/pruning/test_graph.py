"""The graph: numbers for digests, marking forwards and backwards."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.pruning.engine.inventory import content, graph
from lading.pruning.engine.inventory.manifest_table import InventoryManifest, ManifestTable
from lading.pruning.engine.types import Inventory
from tests.pruning.builders import digest, image, registry_world, tag


def reached_slowly(edges: list[tuple[int, int]], roots: set[int]) -> set[int]:
    found = set(roots)
    while more := {target for source, target in edges if source in found} - found:
        found |= more
    return found


@given(seed=st.integers(0, 2**32 - 1))
def test_marking_agrees_with_a_slow_walk_on_random_graphs_with_cycles(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randrange(1, 40)
    edges = [(draw.randrange(count), draw.randrange(count)) for _ in range(draw.randrange(80))]
    roots = {draw.randrange(count) for _ in range(draw.randrange(4))}
    built = graph.from_pairs([a for a, _ in edges], [b for _, b in edges], node_count=count)
    assert set(np.flatnonzero(built.reachable(roots))) == reached_slowly(edges, roots)
    backwards = [(b, a) for a, b in edges]
    assert set(np.flatnonzero(built.reversed().reachable(roots))) == reached_slowly(
        backwards, roots
    )


def test_two_digests_with_the_same_first_bits_stop_the_run() -> None:
    same = "a" * 16
    world = registry_world([image("m")], r=[tag("t", "m")])
    twins = [f"sha256:{same}{'0' * 48}", f"sha256:{same}{'1' * 16}{'0' * 32}"]
    manifests = ManifestTable.of(InventoryManifest(digest=one) for one in twins)
    with pytest.raises(graph.SameNumber, match="sha256:aaaa"):
        content.build(
            Inventory(source=world.source, registry="r", repositories={}, manifests=manifests)
        )


def test_a_digest_that_only_begins_like_another_is_not_found_but_refused() -> None:
    built = content.build(registry_world([image("m")]))
    known = digest("m")
    assert built.node(digest("absent")) == graph.NOT_THERE
    with pytest.raises(graph.SameNumber):
        built.node(f"{known[:23]}{'0' * 48}")


def test_an_empty_inventory_has_an_empty_graph() -> None:
    built = content.build(registry_world([]))
    assert not built.marks([digest("x")]).any()
