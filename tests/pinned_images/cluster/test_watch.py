"""Which changes lead to which reconciles; what nobody counts wakes nobody."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.api.core import NODES, Node
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.objects import Key, Object
from lading.loop.controller import Controller
from lading.loop.informer import Informer
from lading.observability.metrics import Metrics
from lading.pinned_images.cluster import controller
from lading.pinned_images.cluster.controller import PLANNERS, Caches
from tests.pinned_images.cluster.test_plans import image_set, node, pool, said

POOLS, SETS, NODES_OF = "pinned-images-pools", "pinned-images-sets", "pinned-images-nodes"


class Watched:
    """Real controllers over caches that a test fills; it sees which names they reconcile."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.caches = Caches(
            nodes=Informer(NODES),
            pools=Informer(MACHINE_CONFIG_POOLS),
            sets=Informer(PINNED_IMAGE_SETS),
            machine_config_nodes=Informer(MACHINE_CONFIG_NODES),
        )
        self._seen: list[tuple[str, str]] = []
        metrics = Metrics(CollectorRegistry())
        self.controllers = {
            name: Controller(
                name=name,
                reconcile=self._reconcile(name),
                clock=self.clock,
                rng=random.Random(1),
                metrics=metrics,
            )
            for name in PLANNERS
        }
        controller.watch(self.controllers, self.caches)

    def _reconcile(self, name: str) -> Callable[[Key], Any]:
        async def reconcile(key: Key) -> datetime | None:
            self._seen.append((name, key.name))
            return None

        return reconcile

    async def after(self, informer: Informer[Any], *objects: Object) -> set[tuple[str, str]]:
        """What is reconciled when these objects come in, one after the other."""
        await self.clock.advance(5)
        self._seen.clear()
        for one in objects:
            informer.put(one)
        await self.clock.advance(5)
        return set(self._seen)


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    made = Watched()
    work = [asyncio.create_task(one.run()) for one in made.controllers.values()]
    made.caches.nodes.put(versioned(node("n")))
    made.caches.pools.put(versioned(pool("infra")))
    made.caches.sets.put(versioned(image_set("s")))
    yield made
    for one in work:
        one.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*work)


def versioned(one: Any, version: str = "1") -> Any:
    metadata = msgspec.structs.replace(one.metadata, resource_version=version)
    return msgspec.structs.replace(one, metadata=metadata)


EVERY_COUNT = {(POOLS, "infra"), (POOLS, "master"), (POOLS, "worker"), (SETS, "s")}


async def test_a_heartbeat_of_a_node_counts_nothing_anew(watched: Watched) -> None:
    beat = versioned(node("n"), "2")
    assert await watched.after(watched.caches.nodes, beat) == {(NODES_OF, "n")}


@pytest.mark.parametrize("changed", [node("n", ready=False), node("n", infra="yes")])
async def test_a_node_that_changes_its_labels_or_readiness_is_counted_anew(
    watched: Watched, changed: Node
) -> None:
    found = await watched.after(watched.caches.nodes, versioned(changed, "2"))
    assert found == {(NODES_OF, "n"), *EVERY_COUNT}


async def test_what_a_node_says_is_counted_and_its_object_looked_at(watched: Watched) -> None:
    found = await watched.after(watched.caches.machine_config_nodes, versioned(said("n")))
    assert found == {(NODES_OF, "n"), *EVERY_COUNT}


async def test_the_status_of_a_pool_moves_no_node_and_its_selector_does(watched: Watched) -> None:
    same = versioned(pool("infra", maxUnavailable=2), "2")
    assert await watched.after(watched.caches.pools, same) == EVERY_COUNT
    other = versioned(pool("infra", nodeSelector={"matchLabels": {"infra": "yes"}}), "3")
    assert await watched.after(watched.caches.pools, other) == {(NODES_OF, "n"), *EVERY_COUNT}


async def test_a_set_is_looked_for_in_every_pool(watched: Watched) -> None:
    found = await watched.after(watched.caches.sets, versioned(image_set("t")))
    assert found == {(SETS, "t"), *EVERY_COUNT}
